"""Which lines changed between two versions, according to git: Myers' algorithm, with git's shortcuts and
git's way of sliding a change, so that merges and blame have the same result as git's.

`difflib` and other correct diffs choose other lines if there is a choice, and a merge depends on the choice.
`tests/snapshot/diff/test_linediff.py` compares this with git.
"""

from __future__ import annotations

from collections import Counter
from itertools import compress

from rewind.snapshot.diff.indent import best_end
from rewind.snapshot.diff.search import LEAST_COST, Search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Block = tuple[int, int, int, int]  # old start and end, new start and end

# The numbers are git's; with others the results differ in long files.
_MANY = 1024  # a line that occurs this often, or as often as the root of the number of lines, says little
_WINDOW = 100  # how many lines around such a line are looked at
_STEP = 256  # lines that are compared at once, where both texts begin or end
_VERY_MANY, _CHEAP = 10_000, 16  # from this many lines on, a cut may only cost this much
_RARE = 4  # it is skipped if fewer than a quarter of its neighbours have a partner

_NO_PARTNER, _HAS_PARTNER, _SAYS_LITTLE = 0, 1, 2
_OPPOSITE = bytes((1, 0)) + bytes(254)
_IS_CHANGED = bytes((1, 0, 0)) + bytes(253)


def changed_blocks(old: Sequence[bytes], new: Sequence[bytes], *, by_indent: bool = False,
                   to_show: bool = False) -> list[Block]:
    """The blocks that differ, in order. `by_indent` slides a block to where code begins and ends; `git diff`
    and `git blame` do that, and a merge does not. `to_show`: if very many lines have partners, the result may
    be much longer than necessary."""
    a, b = File(old), File(new)
    _mark_changed(a, b, to_show)
    _slide(a, b, by_indent)
    _slide(b, a, by_indent)
    return _blocks(a, b)


class File:
    """The lines of one side, and which of them changed."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self.lines = lines
        self.changed = bytearray(len(lines) + 1)  # with an end mark, which never changes

    def unchanged(self) -> list[int]:
        return list(compress(range(len(self.lines)), self.changed.translate(_OPPOSITE)))


def _blocks(a: File, b: File) -> list[Block]:
    found: list[Block] = []
    i = j = 0
    while True:
        next_a, next_b = a.changed.find(1, i), b.changed.find(1, j)
        if next_a < 0 and next_b < 0:
            return found
        same = min(at - start for at, start in ((next_a, i), (next_b, j)) if at >= 0)
        i, j = i + same, j + same
        end_a, end_b = a.changed.find(0, i), b.changed.find(0, j)
        found.append((i, end_a, j, end_b))
        i, j = end_a, end_b


# finding what changed

def _mark_changed(a: File, b: File, to_show: bool) -> None:
    first, left = _common_ends(a.lines, b.lines)
    ends = len(a.lines) - left, len(b.lines) - left
    here, there = a.lines[first:ends[0]], b.lines[first:ends[1]]
    if set(here).isdisjoint(there):  # most changes are small, and nothing is left to compare
        a.changed[first:ends[0]], b.changed[first:ends[1]] = b"\1" * len(here), b"\1" * len(there)
        return
    kept_a, kept_b = _worth_comparing(a, first, here, b.lines), _worth_comparing(b, first, there, a.lines)
    numbers: dict[bytes, int] = {}  # quicker to compare than lines
    one, two = ([numbers.setdefault(file.lines[at], len(numbers)) for at in kept]
                for file, kept in ((a, kept_a), (b, kept_b)))
    most = max(LEAST_COST, rough_root(len(kept_a) + len(kept_b) + 3))
    if to_show and len(kept_a) + len(kept_b) > _VERY_MANY:
        most = _CHEAP
    changed_a, changed_b = Search(one, two, most).changed()
    for at in changed_a:
        a.changed[kept_a[at]] = 1
    for at in changed_b:
        b.changed[kept_b[at]] = 1


def _common_ends(one: Sequence[bytes], two: Sequence[bytes]) -> tuple[int, int]:
    """How many lines both begin with, and how many of the rest both end with."""
    first = _same_at_start(one, two)
    return first, _same_at_start(one[:first - 1 if first else None:-1], two[:first - 1 if first else None:-1])


def _same_at_start(one: Sequence[bytes], two: Sequence[bytes]) -> int:
    at, most = 0, min(len(one), len(two))
    while at < most and one[at:at + _STEP] == two[at:at + _STEP]:
        at += _STEP
    return next((n for n in range(at, most) if one[n] != two[n]), most)


def rough_root(number: int) -> int:
    """A power of two near the square root."""
    return 1 << ((number.bit_length() + 1) // 2)


def _worth_comparing(file: File, start: int, lines: Sequence[bytes], other: Sequence[bytes]) -> list[int]:
    """Those of the lines from `start` on that the search must look at. A line without a partner on the other
    side has changed. So has, by assumption, a line with very many partners if most lines around it have
    none."""
    limit = min(rough_root(len(file.lines)), _MANY)
    partners = Counter(filter(set(lines).__contains__, other))
    kinds = bytes(_NO_PARTNER if not count else _HAS_PARTNER if count < limit else _SAYS_LITTLE
                  for count in map(partners.__getitem__, lines))
    if _SAYS_LITTLE in kinds and _NO_PARTNER in kinds:
        kinds = bytes(_NO_PARTNER if kind == _SAYS_LITTLE and _is_noise(kinds, at) else kind
                      for at, kind in enumerate(kinds))
    places = range(start, start + len(kinds))
    file.changed[start:places.stop] = kinds.translate(_IS_CHANGED)
    return list(compress(places, kinds))


def _is_noise(kinds: bytes, at: int) -> bool:
    before = kinds[max(0, at - _WINDOW):at][::-1]
    after = kinds[at + 1:at + 1 + _WINDOW]
    alone = little = 0
    for side in (before, after):
        end = side.find(_HAS_PARTNER)
        run = side if end < 0 else side[:end]
        without = run.count(_NO_PARTNER)
        if not without:
            return False
        alone += without
        little += 1 + len(run) - without
    return little * _RARE < little + alone


# sliding

def _slide(file: File, other: File, by_indent: bool) -> None:
    """Choose a place for each block of changed lines that could be higher or lower: beside a change on the
    other side if there is one, else by indentation, or as low as possible. Blocks that meet become one."""
    lines, changed, last = file.lines, file.changed, len(file.lines)
    kept: list[int] = []  # on the other side: gap n is between the unchanged lines n - 1 and n

    def meets_change(gap: int) -> bool:
        if not kept:
            kept.extend((-1, *other.unchanged(), len(other.lines)))
        return kept[gap + 1] - kept[gap] > 1

    end, gap = 0, 0
    while True:
        start = changed.find(1, end)
        if start < 0:
            return
        gap += start - end
        end = changed.find(0, start)
        if (not start or lines[start - 1] != lines[end - 1]) and (end == last or lines[start] != lines[end]):
            continue
        while True:
            size = end - start
            while start > 0 and lines[start - 1] == lines[end - 1]:  # up as far as it goes
                start, end, gap = start - 1, end - 1, gap - 1
                changed[start], changed[end] = 1, 0
                while start > 0 and changed[start - 1]:
                    start -= 1
            highest, beside = end, end if meets_change(gap) else -1
            while end < last and lines[start] == lines[end]:  # and down
                changed[start], changed[end] = 0, 1
                start, end, gap = start + 1, end + 1, gap + 1
                while changed[end]:
                    end += 1
                if meets_change(gap):
                    beside = end
            if size == end - start:
                break
        if end == highest:
            continue
        wanted = beside if beside >= 0 else best_end(file.lines, highest, end, size) if by_indent else end
        for _ in range(end - wanted):
            start, end, gap = start - 1, end - 1, gap - 1
            changed[start], changed[end] = 1, 0
