"""Where the line of a place began: a fork with its own directory goes on from another place's checkpoint."""

from __future__ import annotations

from rewind.index import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.rewind.log.operations import Operation

_ANY = 1 << 62


def reaches(state: State) -> dict[str, int]:
    """Place -> the number of the last checkpoint there that belongs to the past of this place."""
    found = {state.place: _ANY}
    if state.place == MAIN:
        return found
    began, at = beginnings(state), state.place
    while at in began:
        op = began[at]
        at = str(op.begun.get("origin") or MAIN)
        sequence = op.begun.get("point")
        if at in found or not isinstance(sequence, int):
            break
        found[at] = sequence
    return found


def beginnings(state: State) -> dict[str, Operation]:
    """Place -> the operation that made it."""
    from rewind.checkpoint.rewind.log.operations import FUTURE

    return {op.place: op for op in state.operations().all if op.command == FUTURE and op.ended}
