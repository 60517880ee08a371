"""Resolves a target to what it means now. The code for conversations is in `conversation/` and loaded only
when it is needed, because most requests are only about files."""

from __future__ import annotations

from rewind.checkpoint.operation_log import operations as ops
from rewind.checkpoint.rewind import target as targets
from rewind.checkpoint.rewind.destination import Destination
from rewind.checkpoint.rewind.effects import outside
from rewind.checkpoint.rewind.effects.kind import OUTSIDE
from rewind.checkpoint.rewind.files.code_to_restore import CodeToRestore
from rewind.checkpoint.rewind.finish import finish
from rewind.checkpoint.rewind.undo_and_redo import before_operation, before_undo, earlier_on_line
from rewind.checkpoint.select.selectors import select
from rewind.errors import NoConversation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record
    from rewind.checkpoint.rewind.destination import Resolver
    from rewind.checkpoint.rewind.target import Request, Target


def resolve(state: State, request: Request) -> Destination:
    resolver = _RESOLVERS.get(type(request.target))
    if resolver is None:
        from rewind.checkpoint.rewind.conversation.turns import (
            RESOLVERS,  # reads conversations, which takes long to load
        )

        resolver = RESOLVERS[type(request.target)]
    found = resolver(state, request, request.target)
    if found.command in (ops.RESTORE, ops.BACK):
        outside.add(state, found)
    for effect in found.effects if found.resumes is None else ():
        if effect.get("kind") == OUTSIDE:
            outside.compare_with_disk(effect)
    found.notes = [note for note in found.notes if note]
    return found


# a checkpoint

def _at_checkpoint(state: State, request: Request, target: targets.AtCheckpoint) -> Destination:
    record = select(state, target.name)
    half_done = state.operations().interrupted()
    if half_done and half_done.command not in (ops.UNDO_RESTORE, ops.REDO) and (
            (half_done.checkpoint == record.name and half_done.paths == target.paths)
            # For the conversation alone the log has no checkpoint.
            or (not half_done.checkpoint and half_done.begun.get("request") == request.key())):
        return finish(state, request, half_done)
    found = Destination(ops.RESTORE, request)
    if request.wants_code:
        found.code = CodeToRestore(record, target.paths, None, request.skip_missing, named=True)
    if request.wants_conversation:
        _add_conversation(state, found, record)
    return found


def _add_conversation(state: State, found: Destination, record: Record) -> None:
    request = found.request
    if not record.data.get("hasTranscript") and request.wants_code and not request.in_place:
        found.no_conversation = f"{NoConversation(checkpoint=record.name).message} Only the code is restored."
        return
    from rewind.checkpoint.rewind.conversation.which_conversation import add_of_record  # takes long to load

    add_of_record(state, found, record)


# what turns did, merged into the current code

def _merged(state: State, request: Request, target: targets.Merge) -> Destination:
    from rewind.checkpoint.rewind.merge_turns.code_to_merge import CodeToMerge

    half_done = state.operations().interrupted()
    if half_done and half_done.begun.get("request") == request.key():
        return finish(state, request, half_done)
    found = Destination(target.command, request)
    found.code = wanted = CodeToMerge(state, target)
    found.about, found.notes = wanted.what(), wanted.notes()
    if isinstance(target, targets.Adopted) and request.wants_conversation:
        from rewind.checkpoint.rewind.merge_turns.adopt import add_conversation

        add_conversation(state, found, target.name)
    return found


_RESOLVERS: dict[type[Target], Resolver] = {
    targets.AtCheckpoint: _at_checkpoint, targets.EarlierOnLine: earlier_on_line,
    targets.BeforeOperation: before_operation, targets.BeforeUndo: before_undo,
    targets.Reverted: _merged, targets.Applied: _merged, targets.Adopted: _merged,
    targets.BroughtBack: _merged,
}
