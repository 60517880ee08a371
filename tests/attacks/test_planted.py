"""A state directory that a repository brings along.

That a planted store with an id of its own is neither used nor written to is tested for every command in
`cli/test_bad_input.py` and for every hook in `hooks/test_handle.py`; hostile names, depths and sizes in a
store that was trusted are in `cli/test_bad_input.py`, too.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from rewind_cli import STATE, Rewind, tree_state


@pytest.fixture
def own(rewind: Rewind) -> Rewind:
    (rewind.project / "a.txt").write_text("mine\n")
    rewind.init("project")
    (rewind.project / "a.txt").write_text("mine, later\n")
    return rewind


def test_a_copy_of_a_store_of_mine_in_a_clone_is_not_used(own: Rewind, tmp_path: Path) -> None:
    """The id is one that I made; what is in the copy need not be."""
    clone = Rewind(tmp_path / "clone", own.home)
    shutil.copytree(own.project, clone.project, symlinks=True)
    before = tree_state(clone.state)
    for args in (["list"], ["save"], ["restore", "last"], ["status"], ["gc"]):
        result = clone.run(*args)
        assert result.code == 1 and "init --trust" in result.err, result
    clone.ok("init")  # a store of its own, beside the copied one
    assert tree_state(clone.project / STATE) == before and clone.state != clone.project / STATE
    own.ok("list")


def test_a_copy_can_be_trusted_and_both_work_on(own: Rewind, tmp_path: Path) -> None:
    clone = Rewind(tmp_path / "clone", own.home)
    shutil.copytree(own.project, clone.project, symlinks=True)
    clone.ok("init", "--trust")
    for one in (own, clone, own, clone):
        one.ok("save")


def test_a_project_that_was_moved_is_still_mine(own: Rewind, tmp_path: Path) -> None:
    moved = Rewind(tmp_path / "moved", own.home)
    os.rename(own.project, moved.project)
    moved.ok("restore", "last")
    assert (moved.project / "a.txt").read_text() == "mine\n"
    os.rename(moved.project, own.project)


@pytest.mark.parametrize("linked", [".agent", ".agent/rewind"])
def test_a_state_directory_behind_a_link_is_not_used_even_if_it_is_mine(
        own: Rewind, tmp_path: Path, linked: str) -> None:
    victim = Rewind(tmp_path / "victim", own.home)
    victim.project.mkdir()
    if linked == ".agent/rewind":
        (victim.project / ".agent").mkdir()
    (victim.project / linked).symlink_to(own.project / linked)
    before = tree_state(own.state)
    for args in (["list"], ["save"], ["restore", "last", "--force"], ["gc"], ["init"], ["init", "--trust"],
                 ["validate", "--deep", "--repair", "--yes"]):
        result = victim.run(*args)
        assert result.code == 1 and "error: " in result.err, (args, result)
    assert tree_state(own.state) == before


@pytest.mark.slow
def test_a_file_of_the_state_that_is_a_link_is_not_written_through(own: Rewind, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("not yours\n")
    for name in ("lock", "place.lock", "operations.jsonl", "pins.json", "damage.json", "branches.json"):
        (own.state / name).unlink(missing_ok=True)
        (own.state / name).symlink_to(outside)
        for args in (["save"], ["restore", "last"], ["validate", "--deep", "--repair", "--yes"]):
            own.run(*args)
        assert outside.read_text() == "not yours\n", name
        (own.state / name).unlink(missing_ok=True)
