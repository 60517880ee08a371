"""Binary search for the first bad state. The caller supplies the function that tries a state."""

from __future__ import annotations

from collections.abc import Callable

# (which state, how many more runs follow at most) -> a result
Try = Callable[[int, int], str]
GOOD, BAD, SKIP = "good", "bad", "skip"
UNKNOWN = -1  # the number of further runs while no good state is known


class Found:
    """States are numbered from the oldest, 0. `bad` is the first bad one, `good` the last good one before it;
    None if every state that was tried is bad. Each of `skipped` may be the first bad one as well."""

    def __init__(self, good: int | None, bad: int | None, skipped: list[int]) -> None:
        self.good = good
        self.bad = bad  # None if the newest is good, so nothing is broken
        self.skipped = skipped


def find_first_bad(count: int, good: int | None, known_bad: bool, attempt: Try) -> Found:
    """Of `count` states, the newest is tried unless it is `known_bad`. Without a `good` one, the search goes
    back by 1, 2, 4, … states until it finds one."""
    bad = count - 1
    skipped: set[int] = set()
    if not known_bad and attempt(bad, steps_left(bad - good) if good is not None else UNKNOWN) != BAD:
        return Found(bad, None, [])
    if good is None:
        good, bad = _gallop(bad, attempt, skipped)
    low = -1 if good is None else good
    while True:
        open_ones = [n for n in range(low + 1, bad) if n not in skipped]
        if good is None or not open_ones:
            return Found(good, bad, sorted(n for n in skipped if low < n < bad))
        middle = min(open_ones, key=lambda n: (abs(2 * n - low - bad), n))
        verdict = attempt(middle, steps_left(max(middle - low, bad - middle)))
        if verdict == GOOD:
            good = low = middle
        elif verdict == BAD:
            bad = middle
        else:
            skipped.add(middle)


def _gallop(newest: int, attempt: Try, skipped: set[int]) -> tuple[int | None, int]:
    """(a good state, the oldest known bad state)"""
    bad, distance = newest, 1
    at = newest - 1
    while at >= 0:
        verdict = attempt(at, UNKNOWN)
        if verdict == GOOD:
            return at, bad
        if verdict == BAD:
            bad = at
        else:
            skipped.add(at)
        distance *= 2
        at = max(0, newest - distance) if at else -1
    return None, bad


def steps_left(between: int) -> int:
    """How many runs are needed to search `between` states, if none is skipped."""
    return max(0, (between - 1).bit_length())
