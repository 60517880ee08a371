"""The search for the first bad state, without any state."""

from __future__ import annotations

import pytest

from rewind.checkpoint.turns.bisect.search import BAD, GOOD, SKIP, Found, find_first_bad


class States:
    """From `first_bad` on they are bad."""

    def __init__(self, first_bad: int, skipped: frozenset[int] = frozenset()) -> None:
        self.first_bad = first_bad
        self.skipped = skipped
        self.tried: list[int] = []
        self.left: list[int] = []

    def attempt(self, at: int, left: int) -> str:
        assert at not in self.tried, "tried twice"
        self.tried.append(at)
        self.left.append(left)
        return SKIP if at in self.skipped else BAD if at >= self.first_bad else GOOD


@pytest.mark.parametrize("count", [2, 3, 10, 1000])
def test_every_place_is_found_in_few_runs(count: int) -> None:
    for first_bad in range(1, count):
        states = States(first_bad)
        found = find_first_bad(count, 0, False, states.attempt)
        assert (found.good, found.bad) == (first_bad - 1, first_bad)
        assert len(states.tried) <= (count - 1).bit_length() + 1  # 11 for 1,000, the newest included
        for at, left in enumerate(states.left):
            assert len(states.tried) - at - 1 <= left, "more runs than were announced"


def test_a_known_end_is_not_tried() -> None:
    states = States(3)
    assert find_first_bad(10, 0, True, states.attempt).bad == 3
    assert 0 not in states.tried and 9 not in states.tried


@pytest.mark.parametrize("first_bad", [*range(1, 40), 500, 999])
def test_without_a_good_one_it_gallops_back(first_bad: int) -> None:
    states = States(first_bad)
    assert find_first_bad(1000, None, False, states.attempt).bad == first_bad
    assert len(states.tried) <= 2 * (1000 - first_bad).bit_length() + 1


def test_galloping_finds_the_last_break_where_the_oldest_fail_as_well() -> None:
    """Before there was a test, running it failed."""
    tried = []

    def attempt(at: int, left: int) -> str:
        tried.append(at)
        return BAD if at < 50 or at >= 95 else GOOD

    assert find_first_bad(100, None, False, attempt).bad == 95


def test_if_the_newest_is_good_nothing_is_broken() -> None:
    states = States(99)
    assert find_first_bad(10, None, False, states.attempt).bad is None
    assert states.tried == [9]


def test_if_all_are_bad_there_is_no_good_one() -> None:
    states = States(0)
    found = find_first_bad(10, None, False, states.attempt)
    assert found.good is None and found.bad == 0


@pytest.mark.parametrize("first_bad", range(1, 30))
@pytest.mark.parametrize("good", [None, 0])
def test_states_that_cannot_tell_are_gone_round(first_bad: int, good: object) -> None:
    skipped = frozenset(n for n in range(1, 29) if n % 3 == 0)
    states = States(first_bad, skipped)
    found: Found = find_first_bad(30, good, False, states.attempt)  # type: ignore[arg-type]
    assert found.good is not None and found.bad is not None
    possible = {*found.skipped, found.bad}
    assert first_bad in possible
    assert possible - {found.bad} <= skipped
    assert all(found.good < n <= found.bad for n in possible)
