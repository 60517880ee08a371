"""Which lines differ between versions of a file, as `git blame` sees it, for whoever walks back through many
of them.

Two versions of a large file differ in few places. Only these are taken apart into lines, with some lines
around them. What the diff has to know of the rest, which lines there are and how often, is counted once for
the newest version and kept up to date. Where that is not enough, all lines are compared.
"""

from __future__ import annotations

from collections import Counter

from rewind.snapshot.linediff import (
    HAS_PARTNER,
    MANY,
    NO_PARTNER,
    SAYS_LITTLE,
    File,
    changed_blocks,
    compared,
    keep,
    rough_root,
    split_lines,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rewind.snapshot.linediff import Block

_TAIL = 1024  # git leaves out what both end with, in steps of so many bytes
_STEP = 1 << 16
_SMALL = 8 << 10  # smaller texts are compared as a whole
_AROUND = 64  # lines that are looked at on either side,
_FEWEST = 2  # occurrences that may be many, in a very short text
_EDGE = 24  # so many of which a change must keep away from: further than the rules for sliding look


def blamed_blocks(old: bytes, new: bytes) -> list[Block]:
    """The parts that differ: lines of the old text from, to; lines of the new text from, to."""
    old, new, _ = without_common_tail(old, new)
    return changed_blocks(split_lines(old), split_lines(new), by_indent=True)


class Differ:
    """From the newest text back: each one is compared with the one before."""

    def __init__(self, newest: bytes) -> None:
        self._new = newest
        self._counts = Counter(split_lines(newest)) if len(newest) > _SMALL else None

    def blocks(self, old: bytes) -> list[Block]:
        new, self._new = self._new, old
        if old == new:
            return []
        if self._counts is None:
            return blamed_blocks(old, new)
        part = _Part(old, new, self._counts)
        found = part.blocks()
        if found is None:
            found = blamed_blocks(old, new)
        for start, end, new_start, new_end in part.inside(found):
            self._counts.update(part.lines_old[start:end])
            self._counts.subtract(part.lines_new[new_start:new_end])
        return found


class _Part:
    """Two texts without what both begin and end with."""

    def __init__(self, old: bytes, new: bytes, counts: Counter[bytes]) -> None:
        """`counts`: how often the new text, all of it, has each line."""
        self.old, self.new, self.tail = without_common_tail(old, new)
        self.counts = counts
        self.start = _common_lines(self.old, self.new)
        self.end_old, self.end_new = _line_aligned(self.old, self.new, self.start)
        self.lines_old = split_lines(self.old[self.start:self.end_old])
        self.lines_new = split_lines(self.new[self.start:self.end_new])
        self.first = self.old.count(b"\n", 0, self.start)  # of these, counted in the whole text

    def inside(self, blocks: list[Block]) -> list[Block]:
        """A block that slid out of the part has the same lines as the place that it slid from."""
        if len(blocks) != 1:
            shift = self.first
            found = [(a - shift, b - shift, c - shift, d - shift) for a, b, c, d in blocks]
            if all(a >= 0 and c >= 0 and b <= len(self.lines_old) and d <= len(self.lines_new)
                   for a, b, c, d in found):
                return found
        return [(0, len(self.lines_old), 0, len(self.lines_new))]

    def blocks(self) -> list[Block] | None:
        """None where more than the lines around would have to be known."""
        first, last = _lines_back(self.old, self.start), _lines_on(self.old, self.end_old)
        above, below = split_lines(self.old[first:self.start]), split_lines(self.old[self.end_old:last])
        a, b = File([*above, *self.lines_old, *below]), File([*above, *self.lines_new, *below])
        set_old, set_new = set(self.lines_old), set(self.lines_new)
        kept_a = keep(a, len(above), self._kinds(self.lines_old, set_old - set_new, self.old, self.new))
        kept_b = keep(b, len(above), self._kinds(self.lines_new, set_new - set_old, self.new, self.old))
        found = compared(a, kept_a, b, kept_b, True)
        open_above, open_below = first > 0, last < len(self.old)
        if any(_reaches_edge(file, blocks, open_above, open_below) for file, blocks in (
                (a, [(s, e) for s, e, _, _ in found]), (b, [(s, e) for _, _, s, e in found]))):
            return None
        before = self.first - len(above)
        return [(s + before, e + before, t + before, f + before) for s, e, t, f in found]

    def _kinds(self, lines: list[bytes], only_here: set[bytes], own: bytes, other: bytes) -> bytes:
        """As the diff of all lines would tell: has a line a partner in the other text, or very many? Those
        that are `only_here` have none in the part that differs."""
        kinds = bytearray(bytes((HAS_PARTNER,)) * len(lines))
        alone = {line for line in only_here if not self._is_common(line, own is self.new)}
        places = [at for at, line in enumerate(lines) if line in alone] if alone else []
        if not places:
            return bytes(kinds)
        for at in places:
            kinds[at] = NO_PARTNER

        def says_little(at: int) -> bool:
            line = lines[at]
            # In the whole of the newer text it is as often, but for what differs.
            most = self.counts[line] + (self.lines_old.count(line) if other is self.old else 0)
            if kinds[at] != HAS_PARTNER or most < _FEWEST:
                return False
            limit = min(rough_root(own.count(b"\n") + (own[-1:] != b"\n")), MANY)
            return most >= limit and _occurs(other, line, limit)

        _spread(kinds, places, says_little)
        return bytes(kinds)

    def _is_common(self, line: bytes, is_new: bool) -> bool:
        """Whether a line is in both texts, besides what differs."""
        total = self.counts[line]
        if not total:
            return False
        own = self.lines_new.count(line) if is_new else 0
        return total > own and (not self.tail or _occurs(self.new, line, 1 + own))


def _spread(kinds: bytearray, places: list[int], says_little: Callable[[int], bool]) -> None:
    """Whether a line occurs very often matters only beside those without a partner, at these places."""
    for at in places:
        for step in (-1, 1):
            beside = at + step
            while 0 <= beside < len(kinds) and says_little(beside):
                kinds[beside] = SAYS_LITTLE
                beside += step


def _reaches_edge(file: File, blocks: list[tuple[int, int]], above: bool, below: bool) -> bool:
    """Whether a block is, or could slide, to where lines are missing."""
    ids, count = file.ids, len(file.ids)
    for start, end in blocks:
        up, down = start, end
        while end > start and up > 0 and ids[up - 1] == ids[end - 1 - (start - up)]:
            up -= 1
        while end > start and down < count and ids[down] == ids[start + (down - end)]:
            down += 1
        if (above and up < _EDGE) or (below and down > count - _EDGE):
            return True
    return False


def _occurs(text: bytes, line: bytes, times: int) -> bool:
    """Whether a text has this line so often."""
    found = int(text.startswith(line) and (line.endswith(b"\n") or text == line))
    at = 0
    while found < times:
        at = text.find(b"\n" + line, at)
        if at < 0:
            return False
        at += len(line)
        found += line.endswith(b"\n") or at + 1 == len(text)
    return True


# what both have

def without_common_tail(old: bytes, new: bytes) -> tuple[bytes, bytes, int]:
    """Both without what git does not look at, and how much that is: a run of changed lines does not slide
    into it."""
    trimmed = common_end(old, new) // _TAIL * _TAIL
    newline = old.find(b"\n", len(old) - trimmed) if trimmed else -1
    if newline < 0:
        return old, new, 0
    spare = len(old) - newline - 1
    return old[:len(old) - spare], new[:len(new) - spare], spare


def common_end(old: bytes, new: bytes) -> int:
    """How many bytes both end with."""
    most = min(len(old), len(new))
    a, b, found = len(old), len(new), 0
    while found < most:
        step = min(_STEP, most - found)
        one, other = old[a - found - step:a - found], new[b - found - step:b - found]
        if one != other:
            return found + _within(one[::-1], other[::-1])
        found += step
    return found


def _common_lines(old: bytes, new: bytes) -> int:
    """How many bytes the lines have that both begin with."""
    most, found = min(len(old), len(new)), 0
    while found < most:
        step = min(_STEP, most - found)
        one, other = old[found:found + step], new[found:found + step]
        if one != other:
            found += _within(one, other)
            break
        found += step
    return old.rfind(b"\n", 0, found) + 1


def _line_aligned(old: bytes, new: bytes, start: int) -> tuple[int, int]:
    """Where the lines begin that both end with."""
    common = common_end(old[start:], new[start:])
    a, b = len(old) - common, len(new) - common
    if (a == start or old[a - 1:a] == b"\n") and (b == start or new[b - 1:b] == b"\n"):
        return a, b
    newline = old.find(b"\n", a)
    return (len(old), len(new)) if newline < 0 else (newline + 1, newline + 1 - a + b)


def _lines_back(text: bytes, at: int) -> int:
    for _ in range(_AROUND):
        if not at:
            break
        at = text.rfind(b"\n", 0, at - 1) + 1
    return at


def _lines_on(text: bytes, at: int) -> int:
    for _ in range(_AROUND):
        at = text.find(b"\n", at) + 1
        if not at:
            return len(text)
    return at


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
