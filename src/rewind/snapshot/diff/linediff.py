"""Which lines changed between two versions, as git's own diff sees it: Myers' algorithm with git's shortcuts
and its way of sliding a change, so that a merge or a blame made from it equals git's.

`difflib` and other correct diffs pick other lines where there is a choice, and a merge depends on the choice.
`tests/snapshot/diff/test_linediff.py` holds this against git.
"""

from __future__ import annotations

from itertools import compress

from rewind.snapshot.diff.indent import best_end
from rewind.snapshot.diff.search import LEAST_COST, Search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Block = tuple[int, int, int, int]  # old start and end, new start and end

# The numbers are git's; with others the results differ in long files.
MANY = 1024  # a line that occurs so often, or as often as the root of the lines, says little
_WINDOW = 100  # around such a line, so many are looked at
_RARE = 4  # it is left out where fewer than one in so many of its neighbours have a partner

NO_PARTNER, HAS_PARTNER, SAYS_LITTLE = 0, 1, 2
_OPPOSITE = bytes((1, 0)) + bytes(254)
_IS_CHANGED = bytes((1, 0, 0)) + bytes(253)


def changed_blocks(old: Sequence[bytes], new: Sequence[bytes], *, by_indent: bool = False) -> list[Block]:
    """The blocks that differ, in order. `by_indent` slides a block to where it begins and ends as code does,
    which `git diff` and `git blame` do and a merge does not."""
    numbers: dict[bytes, int] = {}
    one, two = ([numbers.setdefault(line, len(numbers)) for line in lines] for lines in (old, new))
    a, b = File(old, one), File(new, two)
    kept_a, kept_b = _to_compare(a, b, len(numbers))
    return compared(a, kept_a, b, kept_b, by_indent)


def compared(a: File, kept_a: list[int], b: File, kept_b: list[int], by_indent: bool) -> list[Block]:
    """The blocks, once it is known which lines have to be compared: the others are marked if they changed."""
    _mark(a, kept_a, b, kept_b)
    _slide(a, b, by_indent)
    _slide(b, a, by_indent)
    return _blocks(a, b)


class File:
    """The lines of one side, as numbers where that is quicker, equal lines with equal ones; and which of them
    changed."""

    def __init__(self, lines: Sequence[bytes], ids: list[int] | None = None) -> None:
        self.ids: Sequence[Any] = lines if ids is None else ids
        self.lines = lines
        self.changed = bytearray(len(lines) + 1)  # with an end that never changes

    def unchanged(self) -> list[int]:
        return list(compress(range(len(self.ids)), self.changed.translate(_OPPOSITE)))


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

def _to_compare(a: File, b: File, kinds: int) -> tuple[list[int], list[int]]:
    first, left = _common_ends(a.ids, b.ids)
    end_a, end_b = len(a.ids) - left, len(b.ids) - left
    kept_a = _worth_comparing(a, first, end_a, _counts(b.ids, kinds))
    kept_b = _worth_comparing(b, first, end_b, _counts(a.ids, kinds))
    return kept_a, kept_b


def _mark(a: File, kept_a: list[int], b: File, kept_b: list[int]) -> None:
    one, two = [a.ids[at] for at in kept_a], [b.ids[at] for at in kept_b]
    most = max(LEAST_COST, rough_root(len(one) + len(two) + 3))
    changed_a, changed_b = Search(one, two, most).changed()
    for at in changed_a:
        a.changed[kept_a[at]] = 1
    for at in changed_b:
        b.changed[kept_b[at]] = 1


def _common_ends(one: Sequence[int], two: Sequence[int]) -> tuple[int, int]:
    """How many lines both begin with, and how many of the rest both end with."""
    most = min(len(one), len(two))
    first = next((at for at in range(most) if one[at] != two[at]), most)
    most -= first
    last = next((at for at in range(most) if one[-1 - at] != two[-1 - at]), most)
    return first, last


def _counts(ids: Sequence[int], kinds: int) -> list[int]:
    found = [0] * kinds
    for id in ids:
        found[id] += 1
    return found


def rough_root(number: int) -> int:
    """A power of two near the square root."""
    return 1 << ((number.bit_length() + 1) // 2)


def _worth_comparing(file: File, start: int, end: int, partners: list[int]) -> list[int]:
    """The lines that the search has to look at. Without a partner on the other side a line has changed; the
    same is taken for granted of a line with very many, where most around it have none."""
    limit = min(rough_root(len(file.ids)), MANY)
    counts = [partners[id] for id in file.ids[start:end]]
    kinds = bytes(NO_PARTNER if not count else HAS_PARTNER if count < limit else SAYS_LITTLE
                  for count in counts)
    return keep(file, start, kinds)


def keep(file: File, start: int, kinds: bytes) -> list[int]:
    """The same, where it is known what kind of line each one is."""
    if SAYS_LITTLE in kinds and NO_PARTNER in kinds:
        kinds = bytes(NO_PARTNER if kind == SAYS_LITTLE and is_noise(kinds, at) else kind
                      for at, kind in enumerate(kinds))
    places = range(start, start + len(kinds))
    file.changed[start:places.stop] = kinds.translate(_IS_CHANGED)
    return list(compress(places, kinds))


def is_noise(kinds: bytes, at: int) -> bool:
    before = kinds[max(0, at - _WINDOW):at][::-1]
    after = kinds[at + 1:at + 1 + _WINDOW]
    alone = little = 0
    for side in (before, after):
        end = side.find(HAS_PARTNER)
        run = side if end < 0 else side[:end]
        without = run.count(NO_PARTNER)
        if not without:
            return False
        alone += without
        little += 1 + len(run) - without
    return little * _RARE < little + alone


# sliding

def _slide(file: File, other: File, by_indent: bool) -> None:
    """Where a run of changed lines could as well stand higher or lower, choose: beside a change of the other
    side if there is one, else by indentation or as low as it goes. Runs that meet become one."""
    ids, changed, last = file.ids, file.changed, len(file.ids)
    kept = [-1, *other.unchanged(), len(other.ids)]  # gap n lies between the unchanged lines n - 1 and n

    def meets_change(gap: int) -> bool:
        return kept[gap + 1] - kept[gap] > 1

    end, gap = 0, 0
    while True:
        start = changed.find(1, end)
        if start < 0:
            return
        gap += start - end
        end = changed.find(0, start)
        while True:
            size = end - start
            while start > 0 and ids[start - 1] == ids[end - 1]:  # up as far as it goes
                start, end, gap = start - 1, end - 1, gap - 1
                changed[start], changed[end] = 1, 0
                while start > 0 and changed[start - 1]:
                    start -= 1
            highest, beside = end, end if meets_change(gap) else -1
            while end < last and ids[start] == ids[end]:  # and down
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
