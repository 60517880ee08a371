"""What differs between two texts, line by line. Pure, and bounded whatever the texts are.

`difflib` alone takes minutes for two large files that share nothing but common lines. So the
lines that are unique on both sides are matched first; difflib sees only what lies between them,
and only while there is budget for it. Beyond that, a part counts as replaced as a whole.
"""

from __future__ import annotations

from bisect import bisect_left
from difflib import SequenceMatcher

from rewind.fast.sha256 import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    # (lines of the old text from, to; lines of the new text from, to): a part that differs
    Block = tuple[int, int, int, int]

CONTEXT = 3
_LOOKED_AT = 8000  # git looks at as many bytes for a zero byte
_ONE_GAP = 250_000  # pairs of lines that difflib may compare in one gap,
_BUDGET = 2_000_000  # and in one pair of texts
_DEEPEST = 12


class Hunk:
    """A part that differs, with the lines around it. `lines` are (b" ", b"-" or b"+", text)."""

    __slots__ = ("lines", "new_count", "new_start", "old_count", "old_start")

    def __init__(self, old_start: int, new_start: int) -> None:
        self.old_start = old_start  # counted from 0
        self.new_start = new_start
        self.old_count = 0
        self.new_count = 0
        self.lines: list[tuple[bytes, bytes]] = []

    def add(self, sign: bytes, lines: list[bytes]) -> None:
        self.lines += [(sign, line) for line in lines]
        self.old_count += len(lines) if sign != b"+" else 0
        self.new_count += len(lines) if sign != b"-" else 0

    @property
    def old_range(self) -> tuple[int, int]:
        """Its lines of the old text: from, to."""
        return self.old_start, self.old_start + self.old_count

    @property
    def id(self) -> str:
        """The same while the lines are, wherever they have moved to in the new text."""
        text = b"".join([b"%d\n" % self.old_start, *(sign + line for sign, line in self.lines)])
        return sha256(text).hex()[:16]

    def header(self) -> bytes:
        old, new = _range(self.old_start, self.old_count), _range(self.new_start, self.new_count)
        return b"@@ -%s +%s @@" % (old, new)


def _range(start: int, count: int) -> bytes:
    # `diff` counts lines from 1, but names the line before when there is none to count.
    if count == 1:
        return b"%d" % (start + 1)
    return b"%d,%d" % (start + 1 if count else start, count)


def is_binary(data: bytes) -> bool:
    return b"\0" in data[:_LOOKED_AT]


def lines_of(data: bytes) -> list[bytes]:
    """The lines with their ends; only a line feed ends a line."""
    if b"\r" not in data:
        return data.splitlines(keepends=True)
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def blocks(old: list[bytes], new: list[bytes]) -> list[Block]:
    """The parts that differ, in order, none touching the next."""
    found: list[Block] = []
    a = b = 0
    for i, j, length in [*_Matcher(old, new).run(), (len(old), len(new), 0)]:
        if i > a or j > b:
            found.append((a, i, b, j))
        a, b = i + length, j + length
    return found


def counts(parts: list[Block]) -> tuple[int, int]:
    """Lines inserted and deleted."""
    return sum(d - c for _, _, c, d in parts), sum(b - a for a, b, _, _ in parts)


def hunks(old: list[bytes], new: list[bytes], parts: list[Block]) -> Iterator[Hunk]:
    """The parts with some lines around each; near ones come together."""
    group: list[Block] = []
    for part in parts:
        if group and part[0] - group[-1][1] > 2 * CONTEXT:
            yield _hunk(old, new, group)
            group = []
        group.append(part)
    if group:
        yield _hunk(old, new, group)


def _hunk(old: list[bytes], new: list[bytes], group: list[Block]) -> Hunk:
    before = min(CONTEXT, group[0][0])
    hunk = Hunk(group[0][0] - before, group[0][2] - before)
    at = hunk.old_start
    for a, b, c, d in group:
        hunk.add(b" ", old[at:a])
        hunk.add(b"-", old[a:b])
        hunk.add(b"+", new[c:d])
        at = b
    hunk.add(b" ", old[at:at + CONTEXT])
    return hunk


class _Matcher:
    """Finds lines that both texts have, in the same order."""

    def __init__(self, old: list[bytes], new: list[bytes]) -> None:
        self.old = old
        self.new = new
        self.budget = _BUDGET
        self.found: list[tuple[int, int, int]] = []  # from in old, from in new, length

    def run(self) -> list[tuple[int, int, int]]:
        self._match(0, len(self.old), 0, len(self.new), 0)
        return self.found

    def _match(self, a: int, b: int, c: int, d: int, depth: int) -> None:
        old, new = self.old, self.new
        start_a, start_c = a, c
        while a < b and c < d and old[a] == new[c]:
            a, c = a + 1, c + 1
        self._add(start_a, start_c, a - start_a)
        end_b, end_d = b, d
        while a < b and c < d and old[b - 1] == new[d - 1]:
            b, d = b - 1, d - 1
        if a < b and c < d:
            self._between(a, b, c, d, depth)
        self._add(b, d, end_b - b)
        assert end_b - b == end_d - d

    def _between(self, a: int, b: int, c: int, d: int, depth: int) -> None:
        anchors = self._unique_in_both(a, b, c, d) if depth < _DEEPEST else []
        if not anchors:
            self._by_difflib(a, b, c, d)
            return
        for i, j in [*anchors, (b, d)]:
            self._match(a, i, c, j, depth + 1)
            if i < b:
                self._add(i, j, 1)
            a, c = i + 1, j + 1

    def _unique_in_both(self, a: int, b: int, c: int, d: int) -> list[tuple[int, int]]:
        """Lines that are there exactly once on each side, as many as keep their order."""
        theirs = _unique(self.new, c, d)
        pairs = [(i, theirs[line]) for line, i in _unique(self.old, a, b).items() if line in theirs]
        return _longest_rising(pairs)

    def _by_difflib(self, a: int, b: int, c: int, d: int) -> None:
        cost = (b - a) * (d - c)
        if cost > min(_ONE_GAP, self.budget):
            return  # too different: replaced as a whole
        self.budget -= cost
        matcher = SequenceMatcher(None, self.old[a:b], self.new[c:d])
        for i, j, length in matcher.get_matching_blocks():
            self._add(a + i, c + j, length)

    def _add(self, i: int, j: int, length: int) -> None:
        if not length:
            return
        if self.found:
            x, y, known = self.found[-1]
            if (x + known, y + known) == (i, j):
                self.found[-1] = (x, y, known + length)
                return
        self.found.append((i, j, length))


def _unique(lines: list[bytes], start: int, stop: int) -> dict[bytes, int]:
    """Line -> its place, for the lines that are there once; in the order of their places."""
    places: dict[bytes, int] = {}
    for place in range(start, stop):
        line = lines[place]
        places[line] = place if line not in places else -1
    return {line: place for line, place in places.items() if place >= 0}


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most pairs whose second numbers rise as their first ones do (patience sorting)."""
    tops: list[int] = []  # the smallest second number that ends a rising row of this length
    ends: list[int] = []  # which pair that is
    before: list[int] = []
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(tops, j)
        before.append(ends[length - 1] if length else -1)
        tops[length:length + 1] = [j]
        ends[length:length + 1] = [number]
    row = []
    at = ends[-1] if ends else -1
    while at >= 0:
        row.append(pairs[at])
        at = before[at]
    return row[::-1]
