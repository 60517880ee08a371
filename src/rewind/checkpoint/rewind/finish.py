"""Finishing an operation that was interrupted."""

from __future__ import annotations

from rewind.checkpoint.operation_log import operations as ops
from rewind.checkpoint.operation_log.operations import Operation
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.rewind.destination import Destination
from rewind.checkpoint.rewind.effects.kind import OUTSIDE
from rewind.checkpoint.rewind.files.code_to_restore import CodeToRestore, intact_record
from rewind.checkpoint.rewind.target import Request
from rewind.errors import CheckpointNotFound, NoRestoreToUndo


def finish(state: State, request: Request, op: Operation) -> Destination:
    """The destination of the interrupted operation. It is read from the log, because the tree and the
    transcript may have changed since it began."""
    found = Destination(op.command, request)
    found.resumes = op
    by_id = {one.id: one for one in state.operations().all}
    found.undoes = [by_id[id] for id in op.undoes if id in by_id]
    found.redoes = by_id.get(op.redoes)
    if op.checkpoint:
        step = found.undoes[-1] if found.undoes else found.redoes
        left = step.checkpoint if step else ""
        if op.command in (ops.REVERT, ops.APPLY, ops.ADOPT):
            left = op.here_before  # what the merge deletes was there before, and is deleted even if ignored
        found.code = CodeToRestore(needed_record(state, op.checkpoint), op.paths, intact_record(state, left),
                                   request.skip_missing)
    if op.command in (ops.UNDO_RESTORE, ops.REDO):
        found.effects = op.effects
        return found
    if request.wants_conversation:
        from rewind.checkpoint.rewind.conversation.which_conversation import finish_conversation

        finish_conversation(state, found, op)
    found.effects += [effect for effect in op.effects if effect.get("kind") == OUTSIDE]
    return found


def needed_record(state: State, name: str) -> Record:
    try:
        return state.files.read(name)
    except CheckpointNotFound:
        raise NoRestoreToUndo(hint=f"The checkpoint to go back to was deleted: {name}") from None
