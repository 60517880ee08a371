"""Effects on transcripts that were rewritten in their own file, and their undo."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.agents.registry import profile_named
from rewind.checkpoint.conversations.bring_back import (
    BACKUPS,
    check_in_session_directory,
    free_backup_name,
    size_and_mtime,
    size_header_and_mtime,
)
from rewind.checkpoint.conversations.recorded_sessions import recorded_session
from rewind.checkpoint.conversations.trash import move_file
from rewind.checkpoint.operation_log.operations import FORK
from rewind.checkpoint.project.unfinished import Unfinished
from rewind.checkpoint.rewind.effects.continued import rewritten_session_was_continued
from rewind.checkpoint.rewind.effects.kind import REWRITE, SWAP, EffectKind, EffectsResult
from rewind.errors import NotAFork
from rewind.files import make_private_dir
from rewind.transcript.kinds import kind_of
from rewind.transcript.liveness import is_open, why_open
from rewind.transcript.names import path_beside, session_id_of
from rewind.transcript.read.lines import open_transcript
from rewind.transcript.write.fork import temp_of
from rewind.transcript.write.in_place import put_back, same_bytes

if TYPE_CHECKING:
    from rewind.checkpoint.operation_log.line import Effect
    from rewind.checkpoint.project.state import State

_BACKUP_GONE = "The conversation stays as it is, because its backup is gone: "


class _Replaced(EffectKind):
    """A transcript was replaced, and its previous content is kept."""

    def inverse(self, state: State, effect: Effect, chosen: list[Effect]) -> Effect | None:
        path = str(effect.get("path"))
        put = effect.get("backup") if effect["kind"] == REWRITE else effect.get("kept")
        if put and os.path.lexists(put) and rewritten_session_was_continued(state, effect):
            # What was said since must not be lost, so the backup is restored as a fork.
            profile = profile_named(str(effect.get("agent")), state.project.home)
            session = kind_of(profile).new_session_id()
            return {"kind": FORK, "sessionId": session, "agent": effect.get("agent"), "of": put,
                    "original": path, "path": path_beside(path, session, profile)}
        taken = {one["kept"] for one in chosen if one.get("kept")}
        kept = free_backup_name(state, path, taken) if os.path.lexists(path) else None
        return {"kind": SWAP, "path": path, "agent": effect.get("agent"), "put": put, "kept": kept,
                **({"made": effect["made"]} if "made" in effect else {})}


class Rewrite(_Replaced):
    """A transcript was cut. `conversations/bring_back.py` does that."""

    def was_done(self, effect: Effect) -> bool:
        """The backup is written first, so it may exist, complete or not, although the transcript was not cut.
        It is None if there was no transcript."""
        path, backup = str(effect.get("path")), effect.get("backup")
        if not isinstance(backup, str) or not os.path.lexists(path):
            return not isinstance(backup, str) and os.path.lexists(path)
        return os.path.lexists(backup) and not _begins_with(path, backup)


def _begins_with(path: str, other: str) -> bool:
    with open_transcript(path) as file, open_transcript(other) as beginning:
        while True:
            wanted = beginning.read(1 << 20)
            if file.read(len(wanted)) != wanted:
                return False
            if not wanted:
                return True


class Swap(_Replaced):
    def was_done(self, effect: Effect) -> bool:
        path, put = str(effect.get("path")), effect.get("put")
        return same_bytes(path, put) if isinstance(put, str) else not os.path.lexists(path)

    def why_refused(self, state: State, effect: Effect) -> str | None:
        """A session that a client has open is not changed."""
        path = str(effect.get("path"))
        profile = profile_named(str(effect.get("agent")), state.project.home)
        session = session_id_of(path, profile)
        recorded = recorded_session(state, session)
        reason = why_open(profile, session, path, recorded)
        # A recent change means nothing if the file is still as Rewind left it.
        as_made = not os.path.lexists(path) or effect.get("made") == size_and_mtime(path)
        return reason if reason and (is_open(profile, session, recorded) or not as_made) else None

    def preview_notes(self, state: State, effect: Effect) -> list[str]:
        if self.was_done(effect):
            return []
        refused = self.why_refused(state, effect)
        put = effect.get("put")
        found = [f"{_BACKUP_GONE}{put}" if put and not os.path.lexists(put)
                 else f"Would put the backup in the transcript's place: {effect.get('path')}"]
        return found + ([f"Refused without --force: {refused}"] if refused else [])

    def do(self, state: State, effect: Effect, done: EffectsResult) -> Effect | None:
        path, put, kept = str(effect["path"]), effect.get("put"), effect.get("kept")
        profile = profile_named(str(effect.get("agent")), state.project.home)
        check_in_session_directory(profile, path)
        for backup in (put, kept):
            if backup and (os.path.dirname(backup) != state.project.path(BACKUPS) or os.path.islink(backup)):
                raise NotAFork(path=backup)
        if same_bytes(path, put) if put else not os.path.lexists(path):
            return {**effect, **(size_header_and_mtime(path) if put else {})}  # a killed process has done it
        if put and not os.path.lexists(put):
            done.lacking = True
            done.notes.append(_BACKUP_GONE + put)
            return None
        # A file with this name may be the only copy that a killed process made.
        if kept is None or os.path.lexists(kept):
            kept = free_backup_name(state, path) if os.path.lexists(path) else None
            effect = {**effect, "kept": kept}
        if put:
            with Unfinished(state.project, temp_of(path)):
                put_back(put, path, kept, lambda: None)
            done.notes.append("Swapped the transcript with its backup."
                                + (f" The transcript's previous content is in {kept}" if kept else ""))
            return {**effect, **size_header_and_mtime(path)}
        make_private_dir(state.project.path(BACKUPS))
        move_file(path, str(kept))  # there was no transcript before
        done.notes.append(f"Moved the transcript away; it did not exist before. It is in {kept}")
        return effect
