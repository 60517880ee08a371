"""The order of the tests for workers who take equal parts of it."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import pytest
from deal import deal


class Item(NamedTuple):
    name: str
    path: str
    together: bool = False

    def get_closest_marker(self, name: str) -> bool:
        return self.together


def test_each_part_begins_with_long_tests_and_what_belongs_together_is_in_one() -> None:
    group = [Item(f"g{number}", "group.py", True) for number in range(3)]
    items = [*group, *(Item(str(number), "single.py") for number in range(7))]
    dealt = cast(Any, deal(cast("list[pytest.Item]", items), 2))
    assert [item.name for item in dealt] == ["g0", "g1", "g2", "3", "5", "0", "1", "2", "4", "6"]
    assert sorted(dealt) == sorted(items)
    assert cast(Any, deal(cast("list[pytest.Item]", items), 1)) == items
