"""Which lines differ between versions of a file, according to `git blame`, for a walk back through many
versions. Only the part of each text that differs from the next one is split into lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rewind.snapshot.diff.linediff import changed_blocks
from rewind.snapshot.diff.textdiff import lines_of

if TYPE_CHECKING:
    from rewind.snapshot.diff.linediff import Block

_TAIL = 1024  # git skips the common end of both texts, in steps of this many bytes


class Differ:
    """Starts with the newest text. Each one is compared with the one before."""

    def __init__(self, newest: bytes) -> None:
        self._new = newest
        self._lines = lines_of(newest)

    def blocks(self, old: bytes) -> list[Block]:
        """The parts that differ: start and end in the lines of the old text, and in those of the new text."""
        new, lines = self._new, self._lines
        tail = common_tail(old, new)
        most, end = min(len(old), len(new)) - tail, len(new) - tail
        same = _common_length(most, lambda low, high: old.startswith(new[low:high], low))
        start = old.rfind(b"\n", 0, same) + 1
        between = _lines_in(new, start, end)
        # Counted from the nearer end, because in a large file counting takes the most time.
        first = _lines_in(new, 0, start) if start < tail else (
            len(lines) - _lines_in(new, end, len(new)) - between)
        older, last = lines[:first] + lines_of(old[start:len(old) - tail]), first + between
        self._new, self._lines = old, older + lines[last:]
        return changed_blocks(older, lines[:last], by_indent=True)


def _lines_in(text: bytes, start: int, end: int) -> int:
    return text.count(b"\n", start, end) + (start < end == len(text) and not text.endswith(b"\n"))


def common_tail(old: bytes, new: bytes) -> int:
    """How many bytes at the end git skips because both texts end with them. A block of changed lines does not
    slide into them."""
    a, b = len(old), len(new)
    steps = _common_length(min(a, b) // _TAIL, lambda low, high: old.endswith(
        new[b - high * _TAIL:b - low * _TAIL], 0, a - low * _TAIL))
    newline = old.find(b"\n", a - steps * _TAIL) if steps else -1
    return a - newline - 1 if newline >= 0 else 0


def _common_length(most: int, is_same: Callable[[int, int], bool]) -> int:
    """How far two texts are the same, up to `most`. `is_same` compares the part between two places."""
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        if is_same(low, middle):
            low = middle
        else:
            most = middle - 1
    return low
