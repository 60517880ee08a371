"""What `undo`, `undo-restore` and `redo` lead to, and what a redo must not replace."""

from __future__ import annotations

import os

from rewind.checkpoint.operation_log import operations as ops
from rewind.checkpoint.operation_log.lineage import here, is_ordinary, lineage
from rewind.checkpoint.records.source import Source, between
from rewind.checkpoint.rewind.destination import Destination
from rewind.checkpoint.rewind.files.code_to_restore import CodeToRestore, intact_record
from rewind.checkpoint.rewind.files.left_alone import LeftAlone
from rewind.checkpoint.rewind.files.plan_code import first_that_differs, unsaved
from rewind.checkpoint.rewind.finish import finish, needed_record
from rewind.errors import NoRestoreToUndo, NotAStep, NothingToRedo, NothingToUndo, UnsavedEdits
from rewind.snapshot.trees.tree import DIR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from rewind.checkpoint.operation_log.line import Effect
    from rewind.checkpoint.operation_log.operations import Operation
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record
    from rewind.checkpoint.rewind import target as targets
    from rewind.checkpoint.rewind.files.file_plan import RestorePlan
    from rewind.checkpoint.rewind.target import Request
    from rewind.snapshot.scan.build import Snapshot


def earlier_on_line(state: State, request: Request, target: targets.EarlierOnLine) -> Destination:
    operations = state.operations()
    half_done = operations.interrupted()
    if half_done and half_done.command == ops.UNDO:
        return finish(state, request, half_done)
    current = here(state)
    line = list(lineage(state).line(current.name)) if current else []
    record = first_that_differs(state, line, current.name if current else "")
    if record is None or current is None:
        raise NothingToUndo()
    found = Destination(ops.UNDO, request)
    found.code = CodeToRestore(record)
    passed = line[:[r.name for r in line].index(record.name)]
    found.notes += _ways_to_return(operations.undoable(), [r.name for r in passed], record.name)
    return found


def _ways_to_return(steps: list[Operation], passed: list[str], to: str) -> list[str]:
    """How to return to the state before a restore, if the undo goes past the checkpoint that it restored."""
    return [f"This goes past a {step.command} that left {step.before}. To return there:"
            f" rewind undo-restore {step.id}"
            for step in steps if step.checkpoint in passed and step.paths is None
            and step.command != ops.UNDO and step.before not in (step.checkpoint, to)]


def before_operation(state: State, request: Request, target: targets.BeforeOperation) -> Destination:
    operations = state.operations()
    half_done, named = operations.interrupted(), target.op
    if half_done and half_done.command == ops.UNDO_RESTORE and not named:
        return finish(state, request, half_done)
    undone = _steps_to_undo(state, operations, named)
    again = _repetition_of_failed(state, request, undone)
    if again:
        return again
    found = Destination(ops.UNDO_RESTORE, request)
    found.undoes = undone
    code = [op for op in found.undoes if op.before]
    if code:
        paths = None if any(op.paths is None for op in code) else sorted(
            {path for op in code for path in op.paths or ()})
        found.code = CodeToRestore(needed_record(state, code[0].before), paths,
                                   intact_record(state, code[-1].checkpoint))
        found.notes += _made_since(state, code[0])
    found.effects = _inverse_effects(state, found.undoes)
    return found


def _repetition_of_failed(state: State, request: Request, undone: list[Operation]) -> Destination | None:
    """If the last operation tried to undo or redo the same and failed in part: a repetition of it. Both count
    as one operation, so what the first one did is logged again, and undoing it leads to the state before the
    first."""
    last = next(reversed(state.operations().mine()), None)
    if last is None or last.ended is None or last.took_effect or [op.id for op in undone] not in (
            last.undoes, [last.redoes]):
        return None
    found = finish(state, request, last)
    if last.effects or any(op.effects for op in undone):
        from rewind.checkpoint.rewind.effects.effects import was_done

        found.effects = [one for one in last.effects if was_done(one)]
        found.effects += _inverse_effects(state, undone, {_subject(one) for one in found.effects})
    return found


def _inverse_effects(state: State, undone: list[Operation],
                     but_for: Collection[object] = ()) -> list[Effect]:
    """The effects that undo what these operations did to conversations."""
    if not any(op.effects for op in undone):
        return []
    from rewind.checkpoint.rewind.effects.effects import inverses, was_done

    return inverses(state, [effect for op in undone for effect in op.effects
                            if _subject(effect) not in but_for
                            and (op.ended is not None or was_done(effect))])


def _subject(effect: Effect) -> object:
    """What the effect is done to."""
    return effect.get("original") or effect.get("path") or effect.get("sessionId") or effect.get("kind")


def undo_target(state: State, operations: ops.Operations) -> Operation | None:
    """The operation that `undo-restore` would undo: the first one that is worth undoing."""
    return next((op for op in operations.to_undo() if op.ended is None or op.before
                 or _is_worth_undoing(state, op)), None)


def _is_worth_undoing(state: State, op: Operation) -> bool:
    from rewind.checkpoint.rewind.effects.effects import is_worth_undoing

    return any(is_worth_undoing(state, effect) for effect in op.effects)


def _steps_to_undo(state: State, operations: ops.Operations, named: str) -> list[Operation]:
    """The named operation and all later ones, oldest first; without a name, the one to undo."""
    if not named:
        op = undo_target(state, operations)
        if op is None:
            raise NoRestoreToUndo()
        return [op]
    op = operations.find(named)
    if not op.can_undo:
        reason = ("it is already undone" if op.undone else "it was finished by a later one" if op.superseded
                  else "it left nothing to go back to" if op.is_step else "it is itself an undo or a redo")
        raise NotAStep(name=op.id, reason=reason)
    return operations.since(op)


def _made_since(state: State, op: Operation) -> list[str]:
    names = [r.name for r in state.timeline.all() if is_ordinary(r) and r.place == state.place
             and r.sequence > (op.sequence if op.ended else op.begun.get("sequence") or 0)]
    if not names:
        return []
    some = ", ".join(names[-3:])
    return [f"{len(names)} checkpoints were made since and stay: {some}" if len(names) > 1
            else f"One checkpoint was made since and stays: {some}"]


def before_undo(state: State, request: Request, target: targets.BeforeUndo) -> Destination:
    operations = state.operations()
    half_done = operations.interrupted()
    if half_done and half_done.command == ops.REDO:
        return finish(state, request, half_done)
    op = redo_target(state, operations)
    if op is None:
        raise NothingToRedo()
    again = _repetition_of_failed(state, request, [op])
    if again:
        return again
    found = Destination(ops.REDO, request)
    found.redoes = op
    if op.before:
        found.code = CodeToRestore(needed_record(state, op.before), op.paths,
                                   intact_record(state, op.checkpoint))
    found.effects = _inverse_effects(state, [op])
    return found


def redo_target(state: State, operations: ops.Operations) -> Operation | None:
    """The operation that `redo` would reverse. None if work was saved since, so that the tree is a new
    one."""
    op = operations.to_redo()
    if op is None:
        return None
    since = [r for r in state.timeline.all() if is_ordinary(r) and r.place == state.place
             and r.sequence > op.sequence]
    if not since:
        return op
    left_alone, parents = LeftAlone(state, operations.mine()), lineage(state)
    return None if any(_is_new(state, r, parents.parent(r.name), left_alone) for r in since) else op


def refuse_unsaved(state: State, found: Destination, plan: RestorePlan, snapshot: Snapshot) -> None:
    """Refuse a redo that would replace unsaved edits: changes since the checkpoint that the project stands on
    or, for a redo of some paths, since the operation that it reverses."""
    if found.command != ops.REDO or found.code is None or (found.resumes and found.resumes.ended is None):
        return
    of_paths = found.redoes if found.code.paths else None
    since = intact_record(state, of_paths.checkpoint) if of_paths else here(state)
    last = next(reversed(state.operations().mine()), None)
    # Paths that the last operation could not change are not edits. Repeating it may change them.
    undone = {os.fsencode(path) for path in (last.ended or {}).get("remaining") or ()} if last else set()
    paths = [edit.path for edit in unsaved(state, plan, snapshot, since) if edit.path not in undone]
    if paths and last and last.ended is None:
        # Nor are changes that an interrupted operation made. It sets the modes of directories last.
        for name in (last.before, last.checkpoint):
            edited = {edit.path for edit in unsaved(state, plan, snapshot, intact_record(state, name))
                      if edit.action != "chmod" or not edit.target or edit.target.kind != DIR}
            paths = [path for path in paths if path in edited]
    if since and paths:
        raise UnsavedEdits(checkpoint=since.name, paths=", ".join(os.fsdecode(p) for p in paths[:5]))


def _is_new(state: State, record: Record, parent: Record | None, left_alone: LeftAlone) -> bool:
    """Whether the checkpoint contains new work: a difference other than what operations left alone."""
    if parent is None or record.tree == parent.tree:
        return parent is None
    with Source(state, parent) as old, Source(state, record) as new:
        return any(not left_alone.covers(path) for path, _, _ in between(old, new))
