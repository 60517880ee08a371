"""What an operation does to conversations, as data that the log keeps: each effect can be done, done again
after a kill, and turned around.

fork     a session was made: `sessionId`, `path`, `agent`; with `of`, out of the backup of a rewritten one
trash    a fork was moved to the trash directory `trash`
untrash  it was brought back from there
rewrite  a transcript was cut in its own file; `backup` is what it held
swap     `put` took the transcript's place; what was there went to `kept`
rename   a fork was called `before`, and is called `after`; in its agent's list `titleBefore`, `titleAfter`
rmdir    the directory of a fork was removed; `checkpoint` holds what was in it
mkdir    it was brought back
outside  files outside the project were written or deleted; see `outside`
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.agents.profile import Profile
from rewind.agents.registry import profile_named
from rewind.checkpoint.conversations.bring_back import (
    BACKUPS,
    ConversationPlan,
    check_ours,
    free_backup_name,
    made_of,
    make_fork,
    stamp_of,
)
from rewind.checkpoint.conversations.known_forks import Branches
from rewind.checkpoint.conversations.rename_fork import carry_title
from rewind.checkpoint.conversations.trash import (
    bring_from_trash,
    checked_fork,
    free_name,
    holds,
    is_free,
    move_file,
    move_to_trash,
)
from rewind.checkpoint.conversations.which_session import recorded_session
from rewind.checkpoint.futures import away
from rewind.checkpoint.project.state import State
from rewind.checkpoint.project.unfinished import Unfinished
from rewind.checkpoint.rewind.conversation.outcome import Conversations
from rewind.checkpoint.rewind.files import outside
from rewind.checkpoint.rewind.log.operations import FORK
from rewind.errors import NotAFork, RewindError, SessionInUse
from rewind.files import make_private_dir
from rewind.transcript.kinds import kind_of
from rewind.transcript.liveness import is_open, why_open
from rewind.transcript.names import is_session_id, path_beside, session_id_of
from rewind.transcript.place.cursor import header_length
from rewind.transcript.place.cut import Cut
from rewind.transcript.read.entries import entry_of
from rewind.transcript.read.lines import end_of_lines, events_forward, open_transcript, size_of
from rewind.transcript.write.fork import temp_of
from rewind.transcript.write.in_place import put_back, same_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rewind.checkpoint.conversations.known_forks import Branch
    from rewind.checkpoint.rewind.log.line import Effect


TRASH, UNTRASH, REWRITE, SWAP, RENAME = "trash", "untrash", "rewrite", "swap", "rename"


# turning around

def inverses(state: State, effects: list[Effect]) -> list[Effect]:
    """What takes these back, the last one first. Names are chosen now, so that the log can have them before
    anything is done."""
    found: list[Effect] = []
    lies: dict[str, bool] = {}  # whether something will lie at a name of the trash when it comes to the next
    for effect in reversed(effects):
        taken = {one["kept"] for one in found if one.get("kept")}
        turned = _inverse(state, effect, taken, lies)
        if turned:
            found.append(turned)
            if turned["kind"] in (TRASH, UNTRASH):
                lies[str(turned.get("trash"))] = turned["kind"] == TRASH
    return found


def _inverse(state: State, effect: Effect, taken: set[str | None], lies: dict[str, bool]) -> Effect | None:
    kind = effect.get("kind")
    session: Effect = {"sessionId": effect.get("sessionId"), "path": effect.get("path"),
                       "agent": effect.get("agent")}
    if kind in (FORK, UNTRASH):
        made: Effect = {}
        if "size" in effect:
            made["size"] = effect["size"]
        if "header" in effect:
            made["header"] = effect["header"]
        lay = str(effect.get("trash") or "")  # earlier steps look for it there
        return {"kind": TRASH, **session, **made,
                "trash": free_name(state, str(effect.get("sessionId")), lay if is_session_id(lay) else "",
                                   lies)}
    if kind == TRASH:
        return {**effect, "kind": UNTRASH}
    if kind in (REWRITE, SWAP):
        return _swap_back(state, effect, taken)
    if kind == RENAME:
        return _renamed_back(effect)
    if kind == outside.OUTSIDE:
        return outside.inverse(effect)
    if kind in (away.RMDIR, away.MKDIR):
        return away.inverse(effect)
    return None


def _renamed_back(effect: Effect) -> Effect:
    turned: Effect = {**effect}
    if "after" in effect:
        turned["before"], turned["after"] = effect["after"], effect.get("before")
    if "titleAfter" in effect:
        turned["titleBefore"], turned["titleAfter"] = effect["titleAfter"], effect.get("titleBefore")
    return turned


def _swap_back(state: State, effect: Effect, taken: set[str | None]) -> Effect:
    path = str(effect.get("path"))
    put = effect.get("backup") if effect["kind"] == REWRITE else effect.get("kept")
    if put and os.path.lexists(put) and _went_on(state, effect):
        # What was said since must not disappear: the backup comes back beside it.
        profile = _profile(state, effect)
        session = kind_of(profile).new_session_id()
        return {"kind": FORK, "sessionId": session, "agent": effect.get("agent"), "of": put, "original": path,
                "path": path_beside(path, session, profile)}
    kept = free_backup_name(state, path, taken) if os.path.lexists(path) else None
    return {"kind": SWAP, "path": path, "agent": effect.get("agent"), "put": put, "kept": kept,
            **({"made": effect["made"]} if "made" in effect else {})}


def was_done(effect: Effect) -> bool:
    """Whether a process that was killed came as far as this; told by the files, for it could not say so."""
    kind, path = effect.get("kind"), str(effect.get("path"))
    if kind == FORK:
        return os.path.lexists(path)
    if kind == REWRITE:
        return _was_cut(path, effect.get("backup"))
    if kind == SWAP:
        put = effect.get("put")
        return same_bytes(path, put) if isinstance(put, str) else not os.path.lexists(path)
    return True  # turning these around does nothing where nothing was done


def _was_cut(path: str, backup: object) -> bool:
    """`backup` is a copy that is made before, and may be half of one; None where there was no file."""
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


def leaves_something(state: State, effect: Effect) -> bool:
    """Whether taking this back would do anything; a fork that somebody removed leaves nothing."""
    kind = effect.get("kind")
    if kind in (FORK, UNTRASH):
        return os.path.lexists(str(effect.get("path")))
    if kind == TRASH:
        return holds(state, effect) or os.path.lexists(str(effect.get("path")))
    return True


# before anything is touched

def check(state: State, effects: list[Effect], force: bool) -> None:
    """A rewritten session that a client has open stays as it is."""
    for effect in effects:
        reason = _why_refused(state, effect)
        if reason and not force:
            raise SessionInUse(reason=reason, hint="Close it first. With --force its whole history may be"
                                                   " lost when that client continues.")


def _why_refused(state: State, effect: Effect) -> str | None:
    if effect.get("kind") != SWAP:
        return None
    profile, path = _profile(state, effect), str(effect.get("path"))
    session = session_id_of(path, profile)
    recorded = recorded_session(state, session)
    reason = why_open(profile, session, path, recorded)
    # Its age alone says nothing if it is as we left it.
    as_made = not os.path.lexists(path) or effect.get("made") == stamp_of(path)
    return reason if reason and (is_open(profile, session, recorded) or not as_made) else None


def announce(state: State, effects: list[Effect]) -> list[str]:
    """What doing them would do, in words."""
    return [text for effect in effects for text in _announced(state, effect)]


def _announced(state: State, effect: Effect) -> list[str]:
    kind, session, path = effect.get("kind"), str(effect.get("sessionId")), str(effect.get("path"))
    if kind == TRASH and os.path.lexists(path):
        continued = was_continued(state, effect)
        return [f"Would keep the fork, because it was continued: {session}" if continued
                else f"Would move the fork to the trash: {session}"]
    if kind == UNTRASH:
        there = holds(state, effect) or os.path.lexists(path)
        return [f"Would bring the fork back: {session}" if there else _FORK_GONE + session]
    if kind == FORK and effect.get("of"):
        return [f"Would bring the backup back as a fork, because the session went on: {effect['original']}"]
    if kind == SWAP:
        refused = _why_refused(state, effect)
        put = effect.get("put")
        found = [f"{_BACKUP_GONE}{put}" if put and not os.path.lexists(put)
                 else f"Would put the backup in the transcript's place: {path}"]
        return found + ([f"Refused without --force: {refused}"] if refused else [])
    if kind == outside.OUTSIDE:
        return outside.announce(effect)
    if kind in (away.RMDIR, away.MKDIR):
        return away.announce(effect)
    if kind == RENAME:
        return [f"Would rename the fork to \"{effect.get('after') or ''}\": {session}"]
    return []


_FORK_GONE = "The fork is no longer in the trash and cannot be brought back: "
_BACKUP_GONE = "The conversation stays as it is, because its backup is gone: "


# doing

def do(state: State, effects: list[Effect], result: Conversations) -> None:
    """Each may have been done already by a process that was killed then."""
    for effect in effects:
        done = _DO[effect["kind"]](state, effect, result)
        if done:
            result.effects.append(done)


def _trash(state: State, effect: Effect, result: Conversations) -> Effect | None:
    try:
        _, path, session = checked_fork(state, effect)
    except NotAFork as error:
        result.notes.append(f"{error.message} {error.hint}")
        return None
    if not os.path.lexists(path):
        return effect if holds(state, effect) else None  # killed after this was done; or deleted by someone
    if was_continued(state, effect):
        result.notes.append(f"Kept the fork, because it was continued: {session}")
        return None
    move_to_trash(state, effect)
    result.notes.append(f"Moved the fork to the trash: {session}")
    return effect


def _untrash(state: State, effect: Effect, result: Conversations) -> Effect | None:
    profile, path, session = checked_fork(state, effect)
    if holds(state, effect) and is_free(path, profile):
        bring_from_trash(state, effect)
    elif not os.path.lexists(path):
        result.lacking = True
        result.notes.append(_FORK_GONE + session)
        return None
    result.notes.append(f"The fork is back: {session}")
    return effect


def _swap(state: State, effect: Effect, result: Conversations) -> Effect | None:
    path, put, kept = str(effect["path"]), effect.get("put"), effect.get("kept")
    profile = _profile(state, effect)
    check_ours(profile, path)
    for backup in (put, kept):
        if backup and (os.path.dirname(backup) != state.project.path(BACKUPS) or os.path.islink(backup)):
            raise NotAFork(path=backup)
    if same_bytes(path, put) if put else not os.path.lexists(path):
        return {**effect, **(made_of(path) if put else {})}  # killed after this was done
    if put and not os.path.lexists(put):
        result.lacking = True
        result.notes.append(_BACKUP_GONE + put)
        return None
    if kept is None or os.path.lexists(kept):  # of a process that was killed, and may be all there is of it
        kept = free_backup_name(state, path) if os.path.lexists(path) else None
        effect = {**effect, "kept": kept}
    if put:
        with Unfinished(state.project, temp_of(path)):
            put_back(put, path, kept, lambda: None)
        result.notes.append("Swapped the transcript with its backup."
                            + (f" What it held until now is in {kept}" if kept else ""))
        return {**effect, **made_of(path)}
    make_private_dir(state.project.path(BACKUPS))
    move_file(path, str(kept))  # there was no such file before
    result.notes.append(f"Moved the transcript away; it did not exist before. It is in {kept}")
    return effect


def _fork_of_backup(state: State, effect: Effect, result: Conversations) -> Effect | None:
    backup, session = str(effect.get("of")), str(effect["sessionId"])
    profile = _profile(state, effect)
    if os.path.dirname(backup) != state.project.path(BACKUPS) or os.path.islink(backup):
        raise NotAFork(path=backup)
    if not os.path.lexists(str(effect["path"])):
        with open_transcript(backup) as file:
            cut = Cut(end_of_lines(file))
        done = make_fork(state, ConversationPlan(profile, str(effect["original"]), backup, cut), session)
        result.notes += done.notes
        effect = {**effect, **(done.effect or {})}
    result.notes.append(f"The session went on, so its backup came back as a fork: {session}")
    return effect


def _rename(state: State, effect: Effect, result: Conversations) -> Effect | None:
    Branches(state.project).change(str(effect["sessionId"]), {"name": effect.get("after")})
    note = carry_title(state, effect)
    result.notes += [note] if note else []
    return effect


_DO = {FORK: _fork_of_backup, TRASH: _trash, UNTRASH: _untrash, SWAP: _swap, RENAME: _rename,
       outside.OUTSIDE: outside.do, away.RMDIR: away.do_rmdir, away.MKDIR: away.do_mkdir}


# what became of a session since

def was_continued(state: State, fork: Effect | Branch) -> bool:
    """Whether something was said in a fork since it was made, or a client has it open."""
    profile, session = _profile(state, fork), str(fork.get("sessionId"))
    if is_open(profile, session, recorded_session(state, session)):
        return True
    known: Mapping[str, object] = fork if "size" in fork else Branches(state.project).find(session) or {}
    return _said_since(str(fork.get("path")), profile, known)


def _went_on(state: State, effect: Effect) -> bool:
    """Whether something was said in a rewritten transcript since."""
    path, backup = str(effect.get("path")), effect.get("backup")
    if not os.path.lexists(path) or effect.get("made") == stamp_of(path):
        return False
    if "made" not in effect and backup and os.path.lexists(backup):
        # Of a process that was killed, and could not say what it made.
        return _said_since(path, _profile(state, effect), _as_cut(path, backup))
    return _said_since(path, _profile(state, effect), effect)


def _as_cut(path: str, backup: str) -> Effect:
    """A transcript that was cut begins like its backup: what follows came later, or names the leaf."""
    with open_transcript(path) as file, open_transcript(backup) as whole:
        size = 0
        while True:
            chunk, other = file.read(1 << 20), whole.read(1 << 20)
            if not chunk or chunk != other[:len(chunk)]:
                break
            size += len(chunk)
        line = 0
        for one, two in zip(chunk.splitlines(keepends=True), other.splitlines(keepends=True)):
            if one != two:
                break
            line += len(one)
        return {"size": size + line, "header": header_length(file)}


def _said_since(path: str, profile: Profile, made: Mapping[str, object]) -> bool:
    size, header = made.get("size"), made.get("header")
    if not isinstance(size, int) or not isinstance(header, int):
        return True  # nobody knows: it is kept
    try:
        with open_transcript(path) as file:
            # Droid may have rewritten line 1 since, which moves the rest.
            made_up_to = header_length(file) + size - header
            entries = (entry_of(event, profile) for event in events_forward(file, made_up_to))
            return size_of(file) < made_up_to or any(entry and entry.tells for entry in entries)
    except RewindError:
        return True


def _profile(state: State, effect: Effect | Branch) -> Profile:
    return profile_named(str(effect.get("agent")), state.project.home)
