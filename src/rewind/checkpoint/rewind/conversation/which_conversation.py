"""Which conversation is restored with a checkpoint, or with an interrupted operation, and where it is cut."""

from __future__ import annotations

from rewind.agents.registry import is_under_root, profile_named
from rewind.checkpoint.conversations.bring_back import (
    ConversationPlan,
    ForkPlace,
    plan_of_record,
    size_header_and_mtime,
)
from rewind.checkpoint.operation_log import operations as ops
from rewind.checkpoint.operation_log.operations import Operation
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.rewind.destination import Destination
from rewind.checkpoint.rewind.effects.effects import was_done
from rewind.checkpoint.rewind.effects.kind import OUTSIDE
from rewind.errors import NothingBeforeCut, RewindError, TranscriptRewritten
from rewind.transcript.find import folder_for
from rewind.transcript.names import session_id_of
from rewind.transcript.place.cut import Cut


def add_of_record(state: State, found: Destination, record: Record) -> None:
    """Add the conversation of a checkpoint. Without one, only the code is restored, unless the conversation
    itself was asked for."""
    request = found.request
    needed = not request.wants_code or request.in_place
    try:
        found.conversation = plan = plan_of_record(state, record, to_resume=True)
        if record.place != state.place and folder_for(plan.profile, state.project.root, plan.original):
            plan.fork_place = ForkPlace(state.project.root, state.place)  # it continues where its code is
    except RewindError as error:
        if needed:
            raise
        if isinstance(error, NothingBeforeCut):
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
            # In the log once more, so that undoing this operation undoes it.
            found.effects.append({**effect, **size_header_and_mtime(str(effect["path"]))})
            found.notes.append("The conversation was brought back before the interruption:"
                               f" {effect.get('sessionId') or session_id_of(path, profile)}")
            return
    original, offset, mark = wanted.get("path"), wanted.get("offset"), wanted.get("mark")
    if op.command == ops.RESTORE and found.record:
        add_of_record(state, found, found.record)
        return
    if not isinstance(original, str) or not isinstance(offset, int) or not is_under_root(profile, original):
        return
    found.conversation = ConversationPlan(profile, original, original, Cut(offset, wanted.get("leaf"), True,
                                                           mark if isinstance(mark, dict) else None))
    if wanted.get("root"):
        found.conversation.fork_place = ForkPlace(state.project.root, state.place)
    try:
        found.conversation.check()
    except TranscriptRewritten as error:
        error.hint = (f"To finish it for the code alone: rewind restore {op.checkpoint} --code-only."
                      " To undo it: rewind undo-restore")
        raise
