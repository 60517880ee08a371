"""Background work in pieces: each piece holds the lock for a moment, and other processes that wait for the
lock come before the next piece. This file packs objects and shrinks the database; `collection` does the
rest."""

from __future__ import annotations

import time

from rewind.checkpoint.project.locked import locked_for_upkeep
from rewind.errors import Locked
from rewind.lock import Lock, is_wanted
from rewind.store.packing import (
    Loose,
    find_sparse_bundles,
    next_loose,
    next_singles,
    replace_loose,
    replace_singles,
    unbundle,
)
from rewind.store.space import begin_upkeep, end_upkeep, free_pages, shrink, write_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rewind.checkpoint.project.state import State
    from rewind.store.objects import ObjectStore

PACK_LOCK = "pack.lock"
_HOLD = 0.012  # seconds that a piece should take, so that it stays below 50 ms even if the disk is slow
_REST = 0.01
_PACK_BYTES = (32 << 10, 256 << 10, 4 << 20)  # least, first and most, as for `Pace`
_PAGES = (16, 128, 4096)


class Piece:
    """Holds the lock for one piece: `with Piece(state, wait) as piece:`. A loop ends when
    `piece.is_over()`."""

    def __init__(self, state: State, wait: float) -> None:
        self._locked = locked_for_upkeep(state, "gc", wait)
        self._began = 0.0
        self.seconds = 0.0

    def __enter__(self) -> Piece:
        self._locked.__enter__()
        self._began = time.monotonic()
        return self

    def __exit__(self, *error: Any) -> None:
        self._locked.__exit__(*error)
        self.seconds = time.monotonic() - self._began

    def is_over(self) -> bool:
        return time.monotonic() - self._began > _HOLD


class Pace:
    """How much work fits into a piece, depending on how long the last pieces took."""

    def __init__(self, least: int, first: int, most: int) -> None:
        self.least = least
        self.size = first
        self.most = most

    def note(self, seconds: float) -> None:
        if seconds > _HOLD:
            self.size = max(self.least, self.size // 2)
        elif seconds < _HOLD / 2:
            self.size = min(self.most, self.size * 2)


def wait_for_others(state: State, wait: float) -> None:
    """Rest while another process works here, because it needs the processor and the disk. At most `wait`
    seconds: a process that holds the lock for longer may be waiting for a person."""
    until = time.monotonic() + wait
    while state.is_wanted() and time.monotonic() < until:
        time.sleep(_REST)


def is_being_packed(state: State) -> bool:
    return is_wanted(state.project.path(PACK_LOCK))


def pack(state: State, wait: float) -> None:
    """Compress what was stored uncompressed, unless another process is doing that."""
    _alone(state, lambda: _pack(state, wait))


def _alone(state: State, do: Callable[[], None]) -> None:
    lock = Lock(state.project.path(PACK_LOCK), "gc", 0)
    try:
        lock.__enter__()
    except Locked:
        return
    try:
        do()
    finally:
        lock.close()


def _pack(state: State, wait: float) -> None:
    objects = state.objects
    begin_upkeep(objects)
    try:
        pace = Pace(*_PACK_BYTES)
        _replace_all(state, wait, pace, replace_loose, lambda _: next_loose(objects, pace.size))
        # Objects that saves have stored one by one since the last time.
        _replace_all(state, wait, pace, replace_singles,
                     lambda last: next_singles(objects, last.upto if last else 0, pace.size))
        give_back_space(state, wait)
    finally:
        end_upkeep(objects)


def _replace_all(state: State, wait: float, pace: Pace, replace: Callable[[ObjectStore, Loose], None],
                 after: Callable[[Loose | None], Loose | None]) -> None:
    """`after(None)` returns the first batch, `after(batch)` the one after it."""
    found = after(None)
    while found is not None:
        with Piece(state, wait) as piece:
            replace(state.objects, found)
        pace.note(piece.seconds)
        wait_for_others(state, wait)
        write_back(state.objects)
        found = after(found)


def take_bundles_apart(state: State, wait: float) -> None:
    """Unpack bundles of which little is still needed. `pack` makes new bundles of the rest."""
    _alone(state, lambda: _take_apart(state, wait))


def _take_apart(state: State, wait: float) -> None:
    for bundle, left in find_sparse_bundles(state.objects):
        wait_for_others(state, wait)
        with Piece(state, wait):
            unbundle(state.objects, bundle, left)
        write_back(state.objects)


def give_back_space(state: State, wait: float) -> None:
    """Shrink the database file by its free pages, some at a time."""
    pace = Pace(*_PAGES)
    free = free_pages(state.objects)
    while free:
        wait_for_others(state, wait)
        with Piece(state, wait) as piece:
            shrink(state.objects, pace.size)
            left = free_pages(state.objects)
        pace.note(piece.seconds)
        write_back(state.objects)
        if left >= free:
            break  # others use the pages meanwhile, or the file cannot shrink
        free = left
    write_back(state.objects)
    with Piece(state, wait):
        state.objects.fold()
