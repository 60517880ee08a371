"""Which lines differ between two versions of a file, as `git blame` sees it."""

from __future__ import annotations

from rewind.snapshot.linediff import changed_blocks, split_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.snapshot.linediff import Block

_TAIL = 1024  # git leaves out what both end with, in steps of so many bytes
_STEP = 1 << 16


def blamed_blocks(old: bytes, new: bytes) -> list[Block]:
    """The parts that differ: lines of the old text from, to; lines of the new text from, to."""
    old, new = without_common_tail(old, new)
    return changed_blocks(split_lines(old), split_lines(new), by_indent=True)


def without_common_tail(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """Both without what git does not look at: a run of changed lines does not slide into it."""
    trimmed = common_end(old, new) // _TAIL * _TAIL
    newline = old.find(b"\n", len(old) - trimmed) if trimmed else -1
    if newline < 0:
        return old, new
    spare = len(old) - newline - 1
    return old[:len(old) - spare], new[:len(new) - spare]


def common_end(old: bytes, new: bytes) -> int:
    """How many bytes both end with."""
    most = min(len(old), len(new))
    a, b, found = len(old), len(new), 0
    while found < most:
        step = min(_STEP, most - found)
        if old[a - found - step:a - found] != new[b - found - step:b - found]:
            one, other = old[a - found - step:a - found], new[b - found - step:b - found]
            return found + _within(one[::-1], other[::-1])
        found += step
    return found


def _within(one: bytes, other: bytes) -> int:
    """How many bytes both begin with; they are of the same length, and differ."""
    low, high = 0, len(one)
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low
