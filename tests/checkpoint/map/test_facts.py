"""What the rows of the map are asked for besides."""

from __future__ import annotations

from rewind.checkpoint.changes import turn_changes
from rewind.checkpoint.map import facts


def test_no_changes_are_the_same_for_a_list_as_for_all_others() -> None:
    assert facts._NOTHING == turn_changes.NOTHING
