"""Which checkpoint the project stands on: what changed since is work that no checkpoint may hold yet."""

from __future__ import annotations

from rewind.errors import RewindError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from rewind.checkpoint.record import Record
    from rewind.checkpoint.state import State


def position_of(state: State) -> Record | None:
    """The one that a step back or forward has led to; None when nothing was gone back."""
    position = state.history().position
    record = None if position is None else state.timeline.at(position)
    return record if record and record.kind != "backup" else None


def standing_on(state: State) -> Record | None:
    """That one, else the newest; an imported one says nothing about this project's own state."""
    return position_of(state) or next(
        (r for r in _newest_first(state) if r.kind != "backup" and not r.data.get("imported")), None)


def arrived_at(state: State) -> Iterator[Record]:
    """What the last step back or forward has led to, as far as it is still there."""
    history = state.history()
    names = [history.entries[-1]["checkpoint"]] if history.entries else []
    names += [history.redo[-1].get("from")] if history.redo else []
    for name in names:
        try:
            if name:
                yield state.timeline.find(name)
        except RewindError:
            pass  # collected since, or damaged


def _newest_first(state: State) -> Iterator[Record]:
    newest = state.timeline.newest()
    if newest:
        yield newest  # mostly the one, and the others need not be read
    yield from reversed(state.timeline.all())
