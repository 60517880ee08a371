"""Which lines changed between two versions, as git's own diff sees it: Myers' algorithm with git's shortcuts
and its way of sliding a change, so that a merge or a blame made from it equals git's.

`difflib` and other correct diffs pick other lines where there is a choice, and a merge depends on the choice.
`tests/snapshot/test_linediff.py` holds this against git.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Block = tuple[int, int, int, int]  # old start and end, new start and end

# The numbers are git's; with others the results differ in long files.
_LEAST_COST = 256  # a search may cost so much, or the square root of the lines
_LONG_SNAKE = 20  # so many equal lines in a row are worth stopping for
_WORTH = 4  # how much further than its cost a path must have come
_MANY = 1024  # a line that occurs so often, or as often as the root of the lines, says little
_WINDOW = 100  # around such a line, so many are looked at
_RARE = 4  # it is left out where fewer than one in so many of its neighbours have a partner
_FAR = 1 << 62

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
    _Search(a, kept_a, b, kept_b).run()


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


class _Search:
    """Myers' search from both ends for the middle of a shortest script, box by box."""

    def __init__(self, a: _File, kept_a: list[int], b: _File, kept_b: list[int]) -> None:
        self.a, self.kept_a = a, kept_a
        self.b, self.kept_b = b, kept_b
        self.one = [a.ids[at] for at in kept_a]
        self.two = [b.ids[at] for at in kept_b]
        diagonals = len(kept_a) + len(kept_b) + 3
        self.most = max(rough_root(diagonals), _LEAST_COST)
        self.zero = len(kept_b) + 1  # where diagonal 0 is in the two lists
        self.ahead = [0] * (diagonals + 1)  # furthest line of `one` on each diagonal, from the beginning
        self.back = [0] * (diagonals + 1)  # and from the end

    def run(self) -> None:
        one, two = self.one, self.two
        boxes = [(0, len(one), 0, len(two), False)]
        while boxes:
            low1, high1, low2, high2, exact = boxes.pop()
            while low1 < high1 and low2 < high2 and one[low1] == two[low2]:
                low1, low2 = low1 + 1, low2 + 1
            while low1 < high1 and low2 < high2 and one[high1 - 1] == two[high2 - 1]:
                high1, high2 = high1 - 1, high2 - 1
            if low1 == high1:
                for at in self.kept_b[low2:high2]:
                    self.b.changed[at] = 1
            elif low2 == high2:
                for at in self.kept_a[low1:high1]:
                    self.a.changed[at] = 1
            else:
                mid1, mid2, exact1, exact2 = self._split(low1, high1, low2, high2, exact)
                boxes.append((mid1, high1, mid2, high2, exact2))
                boxes.append((low1, mid1, low2, mid2, exact1))

    def _split(self, low1: int, high1: int, low2: int, high2: int,
               exact: bool) -> tuple[int, int, bool, bool]:
        """Where to cut the box in two, and whether each part is to be searched to the end whatever it
        costs."""
        one, two, ahead, back, zero = self.one, self.two, self.ahead, self.back, self.zero
        least, most = low1 - high2 + zero, high1 - low2 + zero
        start, end = low1 - low2 + zero, high1 - high2 + zero
        odd = (start - end) & 1
        ahead_low = ahead_high = start
        back_low = back_high = end
        ahead[start], back[end] = low1, high1
        cost = 0
        while True:
            cost += 1
            snake = False
            ahead_low, ahead_high = _widen(ahead, ahead_low, ahead_high, least, most, -1)
            for d in range(ahead_high, ahead_low - 1, -2):
                below, above = ahead[d - 1], ahead[d + 1]
                i = begun = below + 1 if below >= above else above
                j = i - d + zero
                while i < high1 and j < high2 and one[i] == two[j]:
                    i += 1
                    j += 1
                if i - begun > _LONG_SNAKE:
                    snake = True
                ahead[d] = i
                if odd and back_low <= d <= back_high and back[d] <= i:
                    return i, j, True, True
            back_low, back_high = _widen(back, back_low, back_high, least, most, _FAR)
            for d in range(back_high, back_low - 1, -2):
                below, above = back[d - 1], back[d + 1]
                i = begun = below if below < above else above - 1
                j = i - d + zero
                while i > low1 and j > low2 and one[i - 1] == two[j - 1]:
                    i -= 1
                    j -= 1
                if begun - i > _LONG_SNAKE:
                    snake = True
                back[d] = i
                if not odd and ahead_low <= d <= ahead_high and i <= ahead[d]:
                    return i, j, True, True
            if exact:
                continue
            box = (low1, high1, low2, high2)
            if snake and cost > _LEAST_COST:
                cut = (self._good_ahead(box, range(ahead_high, ahead_low - 1, -2), start, cost)
                       or self._good_back(box, range(back_high, back_low - 1, -2), end, cost))
                if cut:
                    return cut
            if cost >= self.most:
                return self._furthest(box, range(ahead_high, ahead_low - 1, -2),
                                      range(back_high, back_low - 1, -2))

    def _good_ahead(self, box: tuple[int, int, int, int], diagonals: range, middle: int,
                    cost: int) -> tuple[int, int, bool, bool] | None:
        """A path from the beginning that came far for its cost and ends in a long run of equal lines."""
        low1, high1, low2, high2 = box
        best, found = 0, None
        for d in diagonals:
            i = self.ahead[d]
            j = i - d + self.zero
            gain = (i - low1) + (j - low2) - abs(d - middle)
            if (gain > _WORTH * cost and gain > best and low1 + _LONG_SNAKE <= i < high1
                    and low2 + _LONG_SNAKE <= j < high2
                    and self.one[i - _LONG_SNAKE:i] == self.two[j - _LONG_SNAKE:j]):
                best, found = gain, (i, j, True, False)
        return found

    def _good_back(self, box: tuple[int, int, int, int], diagonals: range, middle: int,
                   cost: int) -> tuple[int, int, bool, bool] | None:
        low1, high1, low2, high2 = box
        best, found = 0, None
        for d in diagonals:
            i = self.back[d]
            j = i - d + self.zero
            gain = (high1 - i) + (high2 - j) - abs(d - middle)
            if (gain > _WORTH * cost and gain > best and low1 < i <= high1 - _LONG_SNAKE
                    and low2 < j <= high2 - _LONG_SNAKE
                    and self.one[i:i + _LONG_SNAKE] == self.two[j:j + _LONG_SNAKE]):
                best, found = gain, (i, j, False, True)
        return found

    def _furthest(self, box: tuple[int, int, int, int], ahead: range,
                  back: range) -> tuple[int, int, bool, bool]:
        """It has cost enough: cut where one of the two searches has come furthest."""
        low1, high1, low2, high2 = box
        best = best1 = -1
        for d in ahead:
            i = min(self.ahead[d], high1)
            if high2 < i - d + self.zero:
                i = high2 + d - self.zero
            if best < 2 * i - d + self.zero:
                best, best1 = 2 * i - d + self.zero, i
        least = least1 = _FAR
        for d in back:
            i = max(low1, self.back[d])
            if i - d + self.zero < low2:
                i = low2 + d - self.zero
            if 2 * i - d + self.zero < least:
                least, least1 = 2 * i - d + self.zero, i
        if high1 + high2 - least < best - (low1 + low2):
            return best1, best - best1, True, False
        return least1, least - least1, False, True


def _widen(reached: list[int], low: int, high: int, least: int, most: int, unreached: int) -> tuple[int, int]:
    """One more diagonal on either side, or one less where the box ends."""
    if low > least:
        low -= 1
        reached[low - 1] = unreached
    else:
        low += 1
    if high < most:
        high += 1
        reached[high + 1] = unreached
    else:
        high -= 1
    return low, high


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
        wanted = beside if beside >= 0 else _best_end(file.lines, highest, end, size) if by_indent else end
        for _ in range(end - wanted):
            start, end, gap = start - 1, end - 1, gap - 1
            changed[start], changed[end] = 1, 0


# where code would be split; the weights are git's

_MOST_INDENT, _MOST_BLANKS, _MOST_SLIDING = 200, 20, 100


def _best_end(lines: Sequence[bytes], highest: int, lowest: int, size: int) -> int:
    """Of the places where a run of changed lines could end, the one that cuts the text best at both ends."""
    first = max(highest, lowest - size - 1, lowest - _MOST_SLIDING)
    best, found = (0, 0), -1
    for end in range(first, lowest + 1):
        one, other = _badness(lines, end), _badness(lines, end - size)
        score = (one[0] + other[0], one[1] + other[1])
        if found < 0 or _compare(score, best) <= 0:
            best, found = score, end
    return found


def _compare(one: tuple[int, int], other: tuple[int, int]) -> int:
    return 60 * ((one[0] > other[0]) - (one[0] < other[0])) + one[1] - other[1]


def _badness(lines: Sequence[bytes], at: int) -> tuple[int, int]:
    """(indent, penalty) of a cut above line `at`."""
    indent = _indent(lines[at]) if at < len(lines) else -1
    before, blanks_before = _next_text(lines, range(at - 1, -1, -1))
    after, blanks_after = _next_text(lines, range(at + 1, len(lines)))
    penalty = 1 if before == -1 and not blanks_before else 0
    penalty += 21 if at >= len(lines) else 0
    following = 1 + blanks_after if indent == -1 else 0
    blanks = blanks_before + following
    penalty += 6 * following - 30 * blanks
    indent = after if indent == -1 else indent
    if indent != -1 and before != -1:
        if indent > before:
            penalty += 10 if blanks else -4
        elif indent < before:
            opens = after > indent
            penalty += 17 if blanks else 24 if opens else 23
    return indent, penalty


def _next_text(lines: Sequence[bytes], order: range) -> tuple[int, int]:
    """The indent of the next line that is not blank, -1 if there is none, and how many blank ones precede."""
    blanks = 0
    for at in order:
        indent = _indent(lines[at])
        if indent != -1:
            return indent, blanks
        blanks += 1
        if blanks == _MOST_BLANKS:
            return 0, blanks
    return -1, blanks


def _indent(line: bytes) -> int:
    """Columns of white space, -1 for a line that has nothing else."""
    found = 0
    for byte in line:
        if byte == 0x20:
            found += 1
        elif byte == 0x09:
            found += 8 - found % 8
        elif byte not in b"\n\r":
            return found
        if found >= _MOST_INDENT:
            return _MOST_INDENT
    return -1
