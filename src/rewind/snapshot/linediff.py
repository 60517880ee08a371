"""Which lines changed between two versions, as git's own diff sees it: Myers' algorithm with git's shortcuts
and its way of sliding a change, so that a merge or a blame made from it equals git's.

`difflib` and other correct diffs pick other lines where there is a choice, and a merge depends on the choice.
`tests/snapshot/test_linediff.py` holds this against git.
"""

from __future__ import annotations

from rewind.snapshot.diff_indent import best_end
from rewind.snapshot.diff_search import LEAST_COST, Search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Block = tuple[int, int, int, int]  # old start and end, new start and end

# The numbers are git's; with others the results differ in long files.
_MANY = 1024  # a line that occurs so often, or as often as the root of the lines, says little
_WINDOW = 100  # around such a line, so many are looked at
_RARE = 4  # it is left out where fewer than one in so many of its neighbours have a partner

_NO_PARTNER, _HAS_PARTNER, _SAYS_LITTLE = 0, 1, 2


def split_lines(data: bytes) -> list[bytes]:
    """With their ends. Only a newline ends a line: a lone carriage return does not."""
    lines = data.split(b"\n")
    last = lines.pop()
    found = [line + b"\n" for line in lines]
    return [*found, last] if last else found


def changed_blocks(old: Sequence[bytes], new: Sequence[bytes], *, by_indent: bool = False) -> list[Block]:
    """The blocks that differ, in order. `by_indent` slides a block to where it begins and ends as code does,
    which `git diff` and `git blame` do and a merge does not."""
    numbers: dict[bytes, int] = {}
    one, two = ([numbers.setdefault(line, len(numbers)) for line in lines] for lines in (old, new))
    a, b = _File(one, old), _File(two, new)
    _mark(a, b, len(numbers))
    _slide(a, b, by_indent)
    _slide(b, a, by_indent)
    return _blocks(a, b)


class _File:
    """The lines of one side as numbers, equal lines with equal ones, and which of them changed."""

    def __init__(self, ids: list[int], lines: Sequence[bytes]) -> None:
        self.ids = ids
        self.lines = lines
        self.changed = bytearray(len(ids) + 1)  # with an end that never changes

    def unchanged(self) -> list[int]:
        changed = self.changed
        return [at for at in range(len(self.ids)) if not changed[at]]


def _blocks(a: _File, b: _File) -> list[Block]:
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

def _mark(a: _File, b: _File, kinds: int) -> None:
    first, left = _common_ends(a.ids, b.ids)
    end_a, end_b = len(a.ids) - left, len(b.ids) - left
    kept_a = _worth_comparing(a, first, end_a, _counts(b.ids, kinds))
    kept_b = _worth_comparing(b, first, end_b, _counts(a.ids, kinds))
    one, two = [a.ids[at] for at in kept_a], [b.ids[at] for at in kept_b]
    most = max(LEAST_COST, rough_root(len(one) + len(two) + 3))
    changed_a, changed_b = Search(one, two, most).changed()
    for at in changed_a:
        a.changed[kept_a[at]] = 1
    for at in changed_b:
        b.changed[kept_b[at]] = 1


def _common_ends(one: list[int], two: list[int]) -> tuple[int, int]:
    """How many lines both begin with, and how many of the rest both end with."""
    most = min(len(one), len(two))
    first = next((at for at in range(most) if one[at] != two[at]), most)
    most -= first
    last = next((at for at in range(most) if one[-1 - at] != two[-1 - at]), most)
    return first, last


def _counts(ids: list[int], kinds: int) -> list[int]:
    found = [0] * kinds
    for id in ids:
        found[id] += 1
    return found


def rough_root(number: int) -> int:
    """A power of two near the square root."""
    return 1 << ((number.bit_length() + 1) // 2)


def _worth_comparing(file: _File, start: int, end: int, partners: list[int]) -> list[int]:
    """The lines that the search has to look at. Without a partner on the other side a line has changed; the
    same is taken for granted of a line with very many, where most around it have none."""
    limit = min(rough_root(len(file.ids)), _MANY)
    counts = [partners[id] for id in file.ids[start:end]]
    kinds = bytes(_NO_PARTNER if not count else _HAS_PARTNER if count < limit else _SAYS_LITTLE
                  for count in counts)
    kept = []
    for at, kind in enumerate(kinds):
        if kind == _HAS_PARTNER or (kind == _SAYS_LITTLE and not _is_noise(kinds, at)):
            kept.append(start + at)
        else:
            file.changed[start + at] = 1
    return kept


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

def _slide(file: _File, other: _File, by_indent: bool) -> None:
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
