"""Work that nobody waits for, in pieces: each holds the lock for a moment, and whoever waits for it comes
before the next piece. Packing and giving space back; `collection` has the rest."""

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
_HOLD = 0.012  # seconds that a piece aims at: it is to stay below 50 ms where the disk is slow for once
_REST = 0.01
_PACK_BYTES = (32 << 10, 256 << 10, 4 << 20)  # at first the one in the middle
_PAGES = (16, 128, 4096)


class Piece:
    """One turn at the lock: `with Piece(state, wait) as piece:` and, in a loop, `until piece.is_over()`."""

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
    """How much fits into a piece: found out by how long the last ones took, for disks differ."""

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
    """Rest while somebody else is at work here: the processor and the disk are theirs, too. Not for ever:
    who has the lock for so long may be waiting for a person."""
    until = time.monotonic() + wait
    while state.is_wanted() and time.monotonic() < until:
        time.sleep(_REST)


def is_being_packed(state: State) -> bool:
    return is_wanted(state.project.path(PACK_LOCK))


def pack(state: State, wait: float) -> None:
    """Compress what was stored in a hurry, unless somebody is at it already."""
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
        # What saves stored one by one since the last time.
        _replace_all(state, wait, pace, replace_singles,
                     lambda last: next_singles(objects, last.upto if last else 0, pace.size))
        give_back_space(state, wait)
    finally:
        end_upkeep(objects)


def _replace_all(state: State, wait: float, pace: Pace, replace: Callable[[ObjectStore, Loose], None],
                 after: Callable[[Loose | None], Loose | None]) -> None:
    """`after(None)` is the first lot, then the one after the last."""
    found = after(None)
    while found is not None:
        with Piece(state, wait) as piece:
            replace(state.objects, found)
        pace.note(piece.seconds)
        wait_for_others(state, wait)
        write_back(state.objects)
        found = after(found)


def take_bundles_apart(state: State, wait: float) -> None:
    """Those that are hardly needed any more; `pack` makes new ones of what is left of them."""
    _alone(state, lambda: _take_apart(state, wait))


def _take_apart(state: State, wait: float) -> None:
    for bundle, left in find_sparse_bundles(state.objects):
        wait_for_others(state, wait)
        with Piece(state, wait):
            unbundle(state.objects, bundle, left)
        write_back(state.objects)


def give_back_space(state: State, wait: float) -> None:
    """The file shrinks by its free pages, some at a time."""
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
            break  # others use pages meanwhile, or it cannot shrink
        free = left
    write_back(state.objects)
    with Piece(state, wait):
        state.objects.fold()
