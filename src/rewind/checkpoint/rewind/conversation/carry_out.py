"""The conversation's part of an operation: previewed or refused, named for the log, and carried out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.checkpoint.conversations.bring_back import (
    check_in_session_directory,
    free_backup_name,
    make_fork,
    refuse_if_open,
    rewrite_in_place,
)
from rewind.checkpoint.operation_log.operations import FORK
from rewind.checkpoint.project.state import State
from rewind.checkpoint.rewind.destination import Destination
from rewind.checkpoint.rewind.effects import effects
from rewind.checkpoint.rewind.effects.kind import REWRITE, EffectsResult
from rewind.checkpoint.rewind.outcome import Outcome
from rewind.errors import SessionInUse
from rewind.transcript.kinds import kind_of

if TYPE_CHECKING:
    from rewind.checkpoint.operation_log.line import Effect, WhereCut


def preview_notes(state: State, found: Destination) -> list[str]:
    """What would be done to conversations, in words, including what would be refused."""
    notes = effects.preview_notes(state, found.effects)
    if found.conversation and found.in_place and not found.start_anew:
        check_in_session_directory(found.conversation.profile, found.conversation.original)
        try:
            refuse_if_open(state, found.conversation, False)
        except SessionInUse as error:
            text = f"Refused without --force: {error.fields['reason']}"
            notes += [] if text in found.notes else [text]
    return notes


class Conversation:
    """What one operation does to conversations. `effects` have their names before anything is made, so that a
    killed process leaves nothing that the log does not know. `done` grows with each effect, so that a later
    failure does not hide it."""

    def __init__(self, state: State, found: Destination, force: bool) -> None:
        self.state = state
        self.found = found
        self.force = force
        self.plan = None if found.start_anew else found.conversation
        self.effects: list[Effect] = [*found.effects, *self._planned()]
        self.done: list[Effect] = []

    def _planned(self) -> list[Effect]:
        """The effect that makes a fork, or the one that cuts a transcript and names its backup."""
        plan = self.plan
        if plan is None:
            return []
        if self.found.in_place:
            backup = free_backup_name(self.state, plan.original) if os.path.lexists(plan.original) else None
            return [{"kind": REWRITE, "path": plan.original, "agent": plan.profile.name, "backup": backup}]
        made = self.found.resumes.made_session if self.found.resumes else ""
        session = made or kind_of(plan.profile).new_session_id()
        return [{"kind": FORK, "sessionId": session, "agent": plan.profile.name,
                 "path": plan.path_of(session)}]

    def check(self) -> None:
        """Refuse before anything is touched."""
        if self.plan and self.found.in_place:
            check_in_session_directory(self.plan.profile, self.plan.original)
            refuse_if_open(self.state, self.plan, self.force)
        effects.check(self.state, self.found.effects, self.force)

    def cut(self) -> WhereCut | None:
        """What is needed to finish the operation if this process is killed."""
        plan = self.plan
        if plan is None:
            return None
        found: WhereCut = {"agent": plan.profile.name, "path": plan.original, "offset": plan.cut.offset,
                           "leaf": plan.cut.leaf, "mark": plan.cut.mark, "inPlace": self.found.in_place}
        if plan.fork_place:
            found["root"] = plan.fork_place.root
        return found

    def to_log(self, succeeded: bool) -> list[Effect]:
        """What was done. After a failure, an effect whose last step failed counts if its files are there."""
        if succeeded:
            return self.done
        named = [(one.get("kind"), one.get("path")) for one in self.done]
        return self.done + [one for one in self.effects if (one.get("kind"), one.get("path")) not in named
                            and effects.was_done(one)]

    def run(self, outcome: Outcome) -> None:
        result = EffectsResult()
        self.done = result.effects
        try:
            effects.do(self.state, [e for e in self.found.effects if not _is_made(e)], result)
            self.done += [e for e in self.found.effects if _is_made(e)]
            if self.plan:
                planned = self.effects[-1]
                outcome.conversation = done = (
                    rewrite_in_place(self.state, self.plan, planned["backup"], force=self.force)
                    if self.found.in_place
                    else make_fork(self.state, self.plan, str(planned["sessionId"]), self.found.request.name))
                self.done += [done.effect] if done.effect else []
                result.notes += done.notes
        finally:
            outcome.notes += result.notes
            outcome.lacks_conversation |= result.lacking


def _is_made(effect: Effect) -> bool:
    """Whether it was made before the interruption of the operation that is finished now."""
    kind = effect.get("kind")
    return kind == REWRITE or (kind == FORK and not effect.get("of"))
