"""Orders the tests of a run so that workers with equal parts of the list end at about the same time."""

from __future__ import annotations

import itertools

import pytest


def deal(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Deal the tests like cards, so that each worker's part begins with long tests and ends with short ones.
    Tests of a file that are marked `together` stay together."""
    hands: list[list[pytest.Item]] = [[] for _ in range(workers)]
    for _, found in itertools.groupby(items, _unit):
        min(hands, key=len).extend(found)
    return [item for hand in hands for item in hand]


def _unit(item: pytest.Item) -> object:
    return item.path if item.get_closest_marker("together") else item
