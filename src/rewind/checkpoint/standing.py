"""Which checkpoint the project stands on: what changed since is work that no checkpoint may hold yet."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.record import Record
    from rewind.checkpoint.state import State


def position_of(state: State) -> Record | None:
    """The one that a step back or forward has led to; None when nothing was gone back."""
    position = state.history().position
    return next((r for r in state.timeline.shown() if r.sequence == position), None)


def standing_on(state: State) -> Record | None:
    """That one, else the newest; an imported one says nothing about this project's own state."""
    return position_of(state) or next(
        (r for r in state.timeline.shown() if not r.data.get("imported")), None)
