"""Hooks in all work trees of a repository at the same moment: nothing is lost, and nothing is mixed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crowd import TREES, Crowd
from rewind_cli import Rewind

pytestmark = pytest.mark.slow

COUNT = 24


def test_hooks_of_four_work_trees_at_once_lose_nothing_and_mix_nothing(rewind: Rewind,
                                                                       tmp_path: Path) -> None:
    crowd = Crowd(rewind)
    for name in TREES:
        crowd.change(name, "second")
    crowd.fire(COUNT)
    for name in TREES:
        assert sorted(crowd.prompts(name)) == sorted(crowd.prompts_of(name, COUNT))
        assert len(crowd.trees_of(name)) == 1
        assert crowd.content(crowd.records(name)[0], tmp_path) == crowd.files(name)
    assert len({tree for name in TREES for tree in crowd.trees_of(name)}) == len(TREES)
    numbers = crowd.numbers()
    assert numbers == list(range(1, len(numbers) + 1))
    assert rewind.json("validate", "--deep")["ok"]


def test_each_place_has_one_line_of_parents_afterwards(rewind: Rewind) -> None:
    crowd = Crowd(rewind)
    crowd.fire(COUNT)
    for name in TREES:
        done = rewind.run("list", "--json", cwd=crowd.trees[name])
        made = json.loads(done.out)["checkpoints"]
        for later, earlier in zip(made, made[1:]):
            assert later["parent"] == earlier["name"] and later["place"] == earlier["place"] == name
