"""Myers' search for what two sequences have in common, with the shortcuts that git takes in long ones."""

from __future__ import annotations

# The numbers are git's; with others the results differ in long files.
LEAST_COST = 256  # a search may always cost this much, whatever the size
_LONG_SNAKE = 20  # this many equal lines in a row are worth stopping at
_WORTH = 4  # how many times its cost a path must have advanced
_FAR = 1 << 62
_STRIDE = 64  # lines that are compared at once when many are the same


class Search:
    """Myers' search from both ends for the middle of a shortest script, box by box."""

    def __init__(self, one: list[int], two: list[int], most: int) -> None:
        """The lines of both sides as numbers; `most` is what looking for one cut may cost."""
        self.one = one
        self.two = two
        self.most = most
        diagonals = len(one) + len(two) + 3
        self.zero = len(two) + 1  # where diagonal 0 is in the two lists
        self.ahead = [0] * (diagonals + 1)  # furthest line of `one` on each diagonal, from the beginning
        self.back = [0] * (diagonals + 1)  # the same from the end

    def changed(self) -> tuple[list[int], list[int]]:
        """The lines of each side that have no partner in a shortest script, or in a cheap one."""
        one, two = self.one, self.two
        changed1: list[int] = []
        changed2: list[int] = []
        boxes = [(0, len(one), 0, len(two), False)]
        while boxes:
            low1, high1, low2, high2, exact = boxes.pop()
            low1, low2 = self._skip_same(low1, high1, low2, high2)
            while low1 < high1 and low2 < high2 and one[low1] == two[low2]:
                low1, low2 = low1 + 1, low2 + 1
            while low1 < high1 and low2 < high2 and one[high1 - 1] == two[high2 - 1]:
                high1, high2 = high1 - 1, high2 - 1
            if low1 == high1:
                changed2 += range(low2, high2)
            elif low2 == high2:
                changed1 += range(low1, high1)
            else:
                mid1, mid2, exact1, exact2 = self._split(low1, high1, low2, high2, exact)
                boxes.append((mid1, high1, mid2, high2, exact2))
                boxes.append((low1, mid1, low2, mid2, exact1))
        return changed1, changed2

    def _skip_same(self, low1: int, high1: int, low2: int, high2: int) -> tuple[int, int]:
        """Skip equal lines, many at once."""
        most, done = min(high1 - low1, high2 - low2) - _STRIDE, 0
        while done <= most and self.one[low1 + done:low1 + done + _STRIDE] == (
                self.two[low2 + done:low2 + done + _STRIDE]):
            done += _STRIDE
        return low1 + done, low2 + done

    def _split(self, low1: int, high1: int, low2: int, high2: int,
               exact: bool) -> tuple[int, int, bool, bool]:
        """Where to cut the box in two, and for each part whether it is to be searched completely at any
        cost."""
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
            if snake and cost > LEAST_COST:
                cut = (self._good_ahead(box, range(ahead_high, ahead_low - 1, -2), start, cost)
                       or self._good_back(box, range(back_high, back_low - 1, -2), end, cost))
                if cut:
                    return cut
            if cost >= self.most:
                return self._furthest(box, range(ahead_high, ahead_low - 1, -2),
                                      range(back_high, back_low - 1, -2))

    def _good_ahead(self, box: tuple[int, int, int, int], diagonals: range, middle: int,
                    cost: int) -> tuple[int, int, bool, bool] | None:
        """A path from the beginning that has advanced far for its cost and ends in many equal lines."""
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
        """The search has cost enough, so cut where one of its two directions has advanced furthest."""
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
    """One diagonal more on each side, or one less at the edge of the box."""
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
