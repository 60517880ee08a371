"""`revert` and `apply` beside `git revert` and `git cherry-pick`: equal where git is clean, else the same
conflicts."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from two_histories import Editor, TwoHistories, look

from rewind.controller import Controller
from rewind_cli import differences, tree_state

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)


def histories(random: Random, project: Path, tmp_path: Path, home: Path, turns: int) -> TwoHistories:
    both = TwoHistories(project, tmp_path / "repository", home)
    editor = Editor(random)
    both.become(editor.start())
    for _ in range(turns):
        both.become(editor.turn(both.files))
    return both


def revert(controller: Controller, names: list[str]) -> set[bytes]:
    """The paths in conflict."""
    outcome = controller.revert(names)
    assert bool(outcome.plan.conflicts) == bool(outcome.remaining), outcome.remaining
    assert not outcome.remaining or not outcome.operation
    return {kept.path for kept in outcome.plan.conflicts}


def check_one_by_one(seed: int, project: Path, tmp_path: Path, home: Path) -> list[bool]:
    """Some turns are taken back in any order; tells which were clean."""
    random = Random(seed)
    both = histories(random, project, tmp_path, home, random.choice([3, 5, 7]))
    try:
        clean = []
        pictures = [tree_state(project)]
        for turn in random.sample(range(1, len(both.commits)), random.choice([2, 3])):
            was = look(project)
            expected = both.git_revert(turn)
            found = revert(both.controller, [both.names[turn]])
            assert found == (expected or set()), (seed, turn)
            assert look(project) == (was if expected else look(both.repository)), (seed, turn)
            clean.append(not expected)
            if tree_state(project) != pictures[-1]:
                pictures.append(tree_state(project))
        for picture in reversed(pictures[:-1]):
            both.controller.undo_restore()
            assert not differences(picture, tree_state(project)), seed
        return clean
    finally:
        both.close()


@pytest.mark.parametrize("seed", range(20))
def test_turns_are_taken_back_as_git_does_it(seed: int, project: Path, tmp_path: Path, home: Path) -> None:
    check_one_by_one(seed, project, tmp_path, home)


@pytest.mark.parametrize("seed", range(100, 108))
def test_several_at_once_are_taken_back_newest_first(seed: int, project: Path, tmp_path: Path,
                                                     home: Path) -> None:
    random = Random(seed)
    both = histories(random, project, tmp_path, home, 5)
    try:
        was, picture = look(project), tree_state(project)
        turns = sorted(random.sample(range(1, len(both.commits)), random.choice([2, 3])), reverse=True)
        expected = both.git_revert(*turns)
        names = [both.names[turn] for turn in turns]
        random.shuffle(names)
        found = revert(both.controller, names)
        assert bool(found) == bool(expected) and found >= (expected or set())
        assert look(project) == (was if expected else look(both.repository))
        if tree_state(project) != picture:
            both.controller.undo_restore()
        assert not differences(picture, tree_state(project))
    finally:
        both.close()


@pytest.mark.parametrize("seed", range(200, 208))
def test_turns_of_another_line_are_brought_over_as_git_does_it(seed: int, project: Path, tmp_path: Path,
                                                               home: Path) -> None:
    check_brought_over(seed, project, tmp_path, home)


def check_brought_over(seed: int, project: Path, tmp_path: Path, home: Path) -> list[bool]:
    random = Random(seed)
    both = histories(random, project, tmp_path, home, 5)
    try:
        clean = []
        start = random.choice([1, 2, 3])
        both.go_to(start)
        editor = Editor(random)
        for _ in range(random.choice([1, 2])):
            both.become(editor.turn(both.files))
        for turn in range(start + 1, 6):
            was, picture = look(project), tree_state(project)
            expected = both.git_pick(turn)
            outcome = both.controller.apply_turns([both.names[turn]])
            assert {kept.path for kept in outcome.plan.conflicts} == (expected or set()), (seed, turn)
            assert look(project) == (was if expected else look(both.repository)), (seed, turn)
            clean.append(not expected)
            if outcome.operation:
                both.controller.undo_restore()
                assert not differences(picture, tree_state(project))
                both.controller.redo()
        return clean
    finally:
        both.close()
