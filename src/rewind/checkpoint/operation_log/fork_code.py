"""The code that was replaced when a fork was made, until the project stands on that code again."""

from __future__ import annotations

from rewind.checkpoint.operation_log.lineage import Lineage, here, lineage
from rewind.checkpoint.operation_log.operations import Operation
from rewind.checkpoint.project.state import State


def replaced_code(state: State) -> dict[str, str]:
    """Fork -> the checkpoint with the code that it replaced. Without forks that left the code alone, whose
    replaced code is back, or whose checkpoint was collected."""
    operations = state.operations().mine()
    made = [(op.made_session, op) for op in operations
            if op.is_step and not op.undone and op.before and op.paths is None]
    forks = [(session, op) for session, op in made if session]
    current = here(state)
    if not forks or current is None:
        return {}
    parents = lineage(state)
    line = list(parents.line(current.name))
    names, trees = {r.name for r in line}, {r.tree for r in line}
    found: dict[str, str] = {}
    for session, op in forks:
        left, brought = parents.records.get(op.before), parents.records.get(op.checkpoint)
        if left is None or (brought and brought.tree == left.tree):
            continue
        if left.name in names or left.tree in trees:
            found.pop(session, None)
        else:
            found[session] = _latest(parents, operations, op)
    return found


def _latest(parents: Lineage, operations: list[Operation], made: Operation) -> str:
    """The last checkpoint on that side, where work may have continued since the fork was made."""
    for op in reversed(operations[operations.index(made):]):
        if op.before and op.paths is None and any(r.name == made.before for r in parents.line(op.before)):
            return op.before
    return made.before


def began_at(state: State, session: str) -> str:
    """The checkpoint that was restored when this fork was made; empty if the code was left alone."""
    for op in reversed(state.operations().mine()):
        if op.checkpoint and op.made_session == session:
            return op.checkpoint
    return ""
