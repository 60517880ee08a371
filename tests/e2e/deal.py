"""In which order the tests of a run are, so that workers who take equal parts of the list end together."""

from __future__ import annotations

import itertools

import pytest


def deal(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """As cards are dealt: each worker's part begins with long tests and ends with short ones. What is marked
    `together` stays so."""
    hands: list[list[pytest.Item]] = [[] for _ in range(workers)]
    for _, found in itertools.groupby(items, _unit):
        min(hands, key=len).extend(found)
    return [item for hand in hands for item in hand]


def _unit(item: pytest.Item) -> object:
    return item.path if item.get_closest_marker("together") else item
