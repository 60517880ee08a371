"""Which lines differ between versions of a file, as `git blame` sees it, for whoever walks back through many
of them.

Two versions of a large file differ in few places. Only these are taken apart into lines, with some lines
around them. What the diff has to know of the rest, which lines there are and how often, is counted once for
the newest version and kept up to date. Where that is not enough, all lines are compared.
"""

from __future__ import annotations

from collections import Counter

from rewind.snapshot.diff.linediff import (
    HAS_PARTNER,
    MANY,
    NO_PARTNER,
    SAYS_LITTLE,
    File,
    changed_blocks,
    compared,
    keep,
    rough_root,
)
from rewind.snapshot.diff.textdiff import lines_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rewind.snapshot.diff.linediff import Block

_TAIL = 1024  # git leaves out what both end with, in steps of so many bytes
_STEP = 1 << 16
_SMALL = 8 << 10  # smaller texts are compared as a whole
_AROUND = 64  # lines that are looked at on either side,
_FEWEST = 2  # occurrences that may be many, in a very short text
_EDGE = 24  # so many of which a change must keep away from: further than the rules for sliding look


def blamed_blocks(old: bytes, new: bytes) -> list[Block]:
    """The parts that differ: lines of the old text from, to; lines of the new text from, to."""
    old, new, _ = without_common_tail(old, new, common_end(old, new))
    return changed_blocks(lines_of(old), lines_of(new), by_indent=True)


class Differ:
    """From the newest text back: each one is compared with the one before."""

    def __init__(self, newest: bytes) -> None:
        self._new = newest
        self._counts = Counter(lines_of(newest)) if len(newest) > _SMALL else None
        self._newlines = newest.count(b"\n")
        # (line, how often) -> before which byte both texts have it so often
        self._often: dict[tuple[bytes, int], int] = {}

    def blocks(self, old: bytes) -> list[Block]:
        new, self._new = self._new, old
        if old == new:
            return []
        if self._counts is None:
            return blamed_blocks(old, new)
        part = _Part(old, new, self._counts, self._newlines, self._often)
        self._newlines += newlines(part.lines_old) - newlines(part.lines_new)
        found = part.blocks()
        if found is None:
            found = blamed_blocks(old, new)
        for start, end, new_start, new_end in part.inside(found):
            self._counts.update(part.lines_old[start:end])
            self._counts.subtract(part.lines_new[new_start:new_end])
        return found


class _Part:
    """Two texts without what both begin and end with."""

    def __init__(self, old: bytes, new: bytes, counts: Counter[bytes], total: int,
                 often: dict[tuple[bytes, int], int]) -> None:
        """`counts`: how often the new text, all of it, has each line; `total`: its line feeds; `often` is
        remembered from one part to the next."""
        common = common_end(old, new)
        self.old, self.new, self.tail = without_common_tail(old, new, common)
        self.counts = counts
        self.start = _common_lines(self.old, self.new)
        self.end_old, self.end_new = _line_aligned(self.old, self.new, self.start, common - self.tail)
        self.often = often
        for known in [key for key, before in often.items() if before > self.start]:
            del often[known]
        self.lines_old = lines_of(self.old[self.start:self.end_old])
        self.lines_new = lines_of(self.new[self.start:self.end_new])
        # Of these, counted in the whole text: from its nearer end, as that takes a third of all the time.
        self.first = new.count(b"\n", 0, self.start) if 2 * self.start < len(new) else (
            total - new.count(b"\n", self.start))
        self._below: int | None = None

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
        above, below = lines_of(self.old[first:self.start]), lines_of(self.old[self.end_old:last])
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
            if most < min(rough_root(self.first + len(lines)), MANY):
                return False  # the limit for the whole text is not lower
            limit = min(rough_root(self._lines_in(len(lines))), MANY)
            return most >= limit and self._has_often(other, line, limit)

        _spread(kinds, places, says_little)
        return bytes(kinds)

    def _has_often(self, text: bytes, line: bytes, times: int) -> bool:
        if (line, times) not in self.often:
            before = _place_of(text, line, times)
            if before < 0 or before > self.start:
                return before >= 0
            self.often[line, times] = before
        return True

    def _lines_in(self, part: int) -> int:
        """How many lines one of the texts has, of which `part` are in the part that differs."""
        if self._below is None:
            self._below = self.old.count(b"\n", self.end_old) + (
                self.end_old < len(self.old) and self.old[-1:] != b"\n")
        return self.first + part + self._below

    def _is_common(self, line: bytes, is_new: bool) -> bool:
        """Whether a line is in both texts, besides what differs."""
        total = self.counts[line]
        if not total:
            return False
        own = self.lines_new.count(line) if is_new else 0
        return total > own and (not self.tail or _place_of(self.new, line, 1 + own) >= 0)


def newlines(lines: list[bytes]) -> int:
    return len(lines) - bool(lines and not lines[-1].endswith(b"\n"))


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


def _place_of(text: bytes, line: bytes, times: int) -> int:
    """Where a line ends that the text has so often by then; -1: it is not that often there."""
    ends = line.endswith(b"\n")
    found = int(text.startswith(line) and (ends or text == line))
    at, wanted = 0, b"\n" + line
    if found >= times:
        return len(line)
    while found < times:
        at = text.find(wanted, at)
        if at < 0:
            return -1
        at += len(line)
        found += ends or at + 1 == len(text)
    return at + 1


# what both have

def without_common_tail(old: bytes, new: bytes, common: int) -> tuple[bytes, bytes, int]:
    """Both without what git does not look at, and how much that is: a run of changed lines does not slide
    into it. They end with `common` same bytes."""
    trimmed = common // _TAIL * _TAIL
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
            return found + _within_end(one, other)
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


def _line_aligned(old: bytes, new: bytes, start: int, common: int) -> tuple[int, int]:
    """Where the lines begin that both end with; they have `common` bytes, or all behind `start`."""
    common = min(common, len(old) - start, len(new) - start)
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


def _within_end(one: bytes, other: bytes) -> int:
    """How many bytes both end with; they are of the same length, and differ."""
    size = len(one)
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        if one[size - middle:size - low] == other[size - middle:size - low]:
            low = middle
        else:
            high = middle
    return low
