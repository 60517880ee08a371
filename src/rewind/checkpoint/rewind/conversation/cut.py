"""The conversation's part of going back: which one, cut where, and what is done to it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from rewind.agents.registry import is_under_root, profile_named
from rewind.checkpoint.conversations.bring_back import (
    ConversationPlan,
    Home,
    check_ours,
    free_backup_name,
    made_of,
    make_fork,
    plan_of_record,
    refuse_if_open,
    rewrite_in_place,
)
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.rewind.conversation import effects
from rewind.checkpoint.rewind.conversation.effects import was_done
from rewind.checkpoint.rewind.conversation.outcome import Conversations
from rewind.checkpoint.rewind.destination import Destination
from rewind.checkpoint.rewind.files.outside import OUTSIDE
from rewind.checkpoint.rewind.log import operations as ops
from rewind.checkpoint.rewind.log.operations import FORK, Operation
from rewind.checkpoint.rewind.outcome import Outcome
from rewind.errors import NoConversation, NothingBeforeCut, RewindError, SessionInUse, TranscriptRewritten
from rewind.transcript.kinds import kind_of
from rewind.transcript.names import session_id_of
from rewind.transcript.place.cut import Cut

if TYPE_CHECKING:
    from rewind.checkpoint.rewind.log.operations import Effect


# which conversation, and where it is cut

def add_of_record(state: State, found: Destination, record: Record) -> None:
    """The code alone is better than nothing, unless the conversation is what was asked for."""
    request = found.request
    needed = not request.wants_code or request.in_place
    try:
        found.chat = plan_of_record(state, record, to_resume=True)
    except RewindError as error:
        if needed:
            raise
        if isinstance(error, NoConversation):
            found.no_conversation = f"{error.message} Only the code comes back."
        elif isinstance(error, NothingBeforeCut):
            found.start_anew = error
            found.notes.append(f"{error.message} {error.hint}")
        else:
            found.lacks_conversation = True
            found.notes.append(f"The conversation is left out: {error.message}")


def finish_conversation(state: State, found: Destination, op: Operation) -> None:
    wanted = op.begun.get("conversation")
    if not isinstance(wanted, dict):
        return
    found.in_place = bool(wanted.get("inPlace"))
    profile = profile_named(str(wanted.get("agent")), state.project.home)
    for effect in op.effects:
        if effect.get("kind") != OUTSIDE and was_done(effect):
            path = str(effect.get("path"))
            # Noted again, so that undoing this takes it back.
            found.effects.append({**effect, **made_of(str(effect["path"]))})
            found.notes.append("The conversation was brought back before the interruption:"
                               f" {effect.get('sessionId') or session_id_of(path, profile)}")
            return
    original, offset, mark = wanted.get("path"), wanted.get("offset"), wanted.get("mark")
    if op.command == ops.RESTORE and found.record:
        add_of_record(state, found, found.record)
        return
    if not isinstance(original, str) or not isinstance(offset, int) or not is_under_root(profile, original):
        return
    found.chat = ConversationPlan(profile, original, original, Cut(offset, wanted.get("leaf"), True,
                                                           mark if isinstance(mark, dict) else None))
    if wanted.get("root"):
        found.chat.home = Home(state.project.root, state.place)
    try:
        found.chat.check()
    except TranscriptRewritten as error:
        error.hint = (f"To finish it for the code alone: rewind restore {op.checkpoint} --code-only."
                      " To undo it: rewind undo-restore")
        raise


# before it is done

def announce(state: State, found: Destination) -> list[str]:
    """What would be done to conversations, in words; what would be refused is refused, or said."""
    notes = effects.announce(state, found.effects)
    if found.chat and found.in_place and not found.start_anew:
        check_ours(found.chat.profile, found.chat.original)
        try:
            refuse_if_open(state, found.chat, False)
        except SessionInUse as error:
            text = f"Refused without --force: {error.fields['reason']}"
            notes += [] if text in found.notes else [text]
    return notes


class Conversation:
    """What one operation does to conversations. `effects` are named before they are there, so that a killed
    process leaves nothing that the log does not know; `done` is noted as it is done, for what fails later
    must not hide it."""

    def __init__(self, state: State, found: Destination, force: bool) -> None:
        self.state = state
        self.found = found
        self.force = force
        self.chat = None if found.start_anew else found.chat
        self.effects: list[Effect] = [*found.effects, *self._planned()]
        self.done: list[Effect] = []

    def _planned(self) -> list[Effect]:
        """The session that will be made, or the backup of the one that will be cut."""
        chat = self.chat
        if chat is None:
            return []
        before = next((e for e in (self.found.resumes.effects if self.found.resumes else ())
                       if e.get("kind") in (FORK, effects.REWRITE)), {})
        about = {"path": chat.original, "agent": chat.profile.name}
        if self.found.in_place:
            backup = free_backup_name(self.state, chat.original) if os.path.lexists(chat.original) else None
            return [{"kind": effects.REWRITE, **about, "backup": backup}]
        session = str(before.get("sessionId") or kind_of(chat.profile).new_session_id())
        path = chat.path_of(session)
        return [{"kind": FORK, "sessionId": session, "agent": chat.profile.name, "path": path}]

    def check(self) -> None:
        """Refuse before anything is touched."""
        if self.chat and self.found.in_place:
            check_ours(self.chat.profile, self.chat.original)
            refuse_if_open(self.state, self.chat, self.force)
        effects.check(self.state, self.found.effects, self.force)

    def cut(self) -> dict[str, Any] | None:
        """What must be known to finish it, should this process be killed."""
        chat = self.chat
        if chat is None:
            return None
        return {"agent": chat.profile.name, "path": chat.original, "offset": chat.cut.offset,
                "leaf": chat.cut.leaf, "mark": chat.cut.mark, "inPlace": self.found.in_place,
                **({"root": chat.home.root} if chat.home else {})}

    def run(self, outcome: Outcome) -> None:
        result = Conversations()
        self.done = result.effects
        try:
            effects.do(self.state, [e for e in self.found.effects if not _is_made(e)], result)
            self.done += [e for e in self.found.effects if _is_made(e)]
            if self.chat:
                planned = self.effects[-1]
                outcome.chat = done = (
                    rewrite_in_place(self.state, self.chat, planned["backup"], force=self.force)
                    if self.found.in_place
                    else make_fork(self.state, self.chat, planned["sessionId"], self.found.request.name))
                self.done += [done.effect] if done.effect else []
                result.notes += done.notes
        finally:
            outcome.notes += result.notes
            outcome.lacks_conversation |= result.lacking


def _is_made(effect: Effect) -> bool:
    """Made before the interruption that is being finished now."""
    kind = effect.get("kind")
    return kind == effects.REWRITE or (kind == FORK and not effect.get("of"))
