"""Effects on forks: made, moved to the trash, brought back from there, and renamed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.agents.registry import profile_named
from rewind.checkpoint.conversations.bring_back import BACKUPS, ConversationPlan, make_fork
from rewind.checkpoint.conversations.rename_fork import write_title
from rewind.checkpoint.conversations.trash import (
    bring_from_trash,
    checked_fork,
    free_name,
    holds,
    is_free,
    move_to_trash,
)
from rewind.checkpoint.rewind.effects.continued import fork_was_continued
from rewind.checkpoint.rewind.effects.kind import TRASH, UNTRASH, EffectKind, EffectsResult
from rewind.errors import NotAFork
from rewind.transcript.names import is_session_id
from rewind.transcript.place.cut import Cut
from rewind.transcript.read.lines import end_of_lines, open_transcript

if TYPE_CHECKING:
    from rewind.checkpoint.operation_log.line import Effect
    from rewind.checkpoint.project.state import State

_GONE = "The fork is no longer in the trash and cannot be brought back: "


class _Present(EffectKind):
    """A fork that exists after the effect: it was made or brought back."""

    def inverse(self, state: State, effect: Effect, chosen: list[Effect]) -> Effect | None:
        made: Effect = {}
        if "size" in effect:
            made["size"] = effect["size"]
        if "header" in effect:
            made["header"] = effect["header"]
        lay = str(effect.get("trash") or "")  # earlier operations look for it there
        # Name in the trash -> whether it will be in use when this effect is done.
        lies = {str(one.get("trash")): one["kind"] == TRASH
                for one in chosen if one["kind"] in (TRASH, UNTRASH)}
        return {"kind": TRASH, "sessionId": effect.get("sessionId"), "path": effect.get("path"),
                "agent": effect.get("agent"), **made,
                "trash": free_name(state, str(effect.get("sessionId")), lay if is_session_id(lay) else "",
                                   lies)}

    def is_worth_undoing(self, state: State, effect: Effect) -> bool:
        return os.path.lexists(str(effect.get("path")))  # somebody may have deleted it


class Fork(_Present):
    """A fork was made. `do` only makes forks from the backup of a session that was rewritten in place."""

    def was_done(self, effect: Effect) -> bool:
        return os.path.lexists(str(effect.get("path")))

    def preview_notes(self, state: State, effect: Effect) -> list[str]:
        return ([f"Would bring the backup back as a fork, because the session went on: {effect['original']}"]
                if effect.get("of") else [])

    def do(self, state: State, effect: Effect, done: EffectsResult) -> Effect | None:
        backup, session = str(effect.get("of")), str(effect["sessionId"])
        profile = profile_named(str(effect.get("agent")), state.project.home)
        if os.path.dirname(backup) != state.project.path(BACKUPS) or os.path.islink(backup):
            raise NotAFork(path=backup)
        if not os.path.lexists(str(effect["path"])):
            with open_transcript(backup) as file:
                cut = Cut(end_of_lines(file))
            made = make_fork(state, ConversationPlan(profile, str(effect["original"]), backup, cut), session)
            done.notes += made.notes
            effect = {**effect, **(made.effect or {})}
        done.notes.append(f"The session went on, so its backup came back as a fork: {session}")
        return effect


class Untrash(_Present):
    def preview_notes(self, state: State, effect: Effect) -> list[str]:
        session = str(effect.get("sessionId"))
        there = holds(state, effect) or os.path.lexists(str(effect.get("path")))
        return [f"Would bring the fork back: {session}" if there else _GONE + session]

    def do(self, state: State, effect: Effect, done: EffectsResult) -> Effect | None:
        profile, path, session = checked_fork(state, effect)
        if holds(state, effect) and is_free(path, profile):
            bring_from_trash(state, effect)
        elif not os.path.lexists(path):
            done.lacking = True
            done.notes.append(_GONE + session)
            return None
        done.notes.append(f"The fork is back: {session}")
        return effect


class Trash(EffectKind):
    def inverse(self, state: State, effect: Effect, chosen: list[Effect]) -> Effect | None:
        return {**effect, "kind": UNTRASH}

    def is_worth_undoing(self, state: State, effect: Effect) -> bool:
        return holds(state, effect) or os.path.lexists(str(effect.get("path")))

    def preview_notes(self, state: State, effect: Effect) -> list[str]:
        if not os.path.lexists(str(effect.get("path"))):
            return []
        session = str(effect.get("sessionId"))
        return [f"Would keep the fork, because it was continued: {session}"
                if fork_was_continued(state, effect) else f"Would move the fork to the trash: {session}"]

    def do(self, state: State, effect: Effect, done: EffectsResult) -> Effect | None:
        try:
            _, path, session = checked_fork(state, effect)
        except NotAFork as error:
            done.notes.append(f"{error.message} {error.hint}")
            return None
        if not os.path.lexists(path):
            # A killed process has already done this, or somebody has deleted the fork.
            return effect if holds(state, effect) else None
        if fork_was_continued(state, effect):
            done.notes.append(f"Kept the fork, because it was continued: {session}")
            return None
        move_to_trash(state, effect)
        done.notes.append(f"Moved the fork to the trash: {session}")
        return effect


class Rename(EffectKind):
    def inverse(self, state: State, effect: Effect, chosen: list[Effect]) -> Effect | None:
        turned: Effect = {**effect}
        if "after" in effect:
            turned["before"], turned["after"] = effect["after"], effect.get("before")
        if "titleAfter" in effect:
            turned["titleBefore"], turned["titleAfter"] = effect["titleAfter"], effect.get("titleBefore")
        return turned

    def preview_notes(self, state: State, effect: Effect) -> list[str]:
        return [f"Would rename the fork to \"{effect.get('after') or ''}\": {effect.get('sessionId')}"]

    def do(self, state: State, effect: Effect, done: EffectsResult) -> Effect | None:
        state.forks().change(str(effect["sessionId"]), {"name": effect.get("after")})
        note = write_title(state, effect)
        done.notes += [note] if note else []
        return effect
