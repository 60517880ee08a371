"""`kill -9` while a second future is made, removed, brought back or adopted: the project is as it was, and
what is left is whole, or is named with the command that clears it away.

A sample by default; REWIND_TORTURE=1 kills after every system call and at as many random moments.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fault_world import World
from kill_driver import Moment, Tally, kill_at, moments

from rewind_cli import Rewind, Tree, differences, git, tree_state

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="needs kill -9")]
QUICK = 8
TURN = "t2"


class Forked(World):
    """A project of which there may be futures."""

    @property
    def lanes(self) -> dict[str, dict[str, Any]]:
        return {lane["name"]: lane for lane in self.rewind.json("forks")["lanes"]}

    def directories(self) -> list[str]:
        """Everything that lies beside the project and is made for a fork."""
        return sorted(name for name in os.listdir(self.top) if "project-fork" in name)

    def code(self, name: str = "fork-1") -> Tree:
        return {path: what for path, what in tree_state(self.top / f"project-{name}").items()
                if path != b".git"}

    def conversations(self) -> list[str]:
        return sorted(p.name for p in (self.home / ".claude" / "projects").rglob("*.jsonl")
                      if "project-fork" in p.parent.name)

    def work_trees(self) -> str:
        return git(self.project, "worktree", "list", home=self.home) if self.is_git else ""

    @property
    def is_git(self) -> bool:
        return (self.project / ".git").exists()

    def status(self) -> str:
        return self.rewind.ok("status").out

    def check_project(self) -> None:
        now = self.look()
        assert differences(self.facts.tree, now.tree) == {}, "the project changed"
        assert _own(now.git) == _own(self.facts.git), "git in the project changed"
        for path, data in self.facts.agent.items():
            assert "project-fork" in path or now.agent.get(path) == data, ("a file of the agent", path)

    def check_valid(self) -> bool:
        found = self.rewind.run("validate", "--deep", "--json")
        for problem in found.data["problems"]:
            assert "interrupted" in problem, problem
        return found.code == 0


def _own(state: dict[str, tuple[int, str]]) -> dict[str, tuple[int, str]]:
    return {path: what for path, what in state.items() if "worktrees" not in path}


both_kinds = pytest.mark.parametrize("world", ["git", "plain"], indirect=True)


@pytest.fixture
def world(request: pytest.FixtureRequest, tmp_path: Path, home: Path,
          commands: Callable[[Path, Path], Rewind]) -> Forked:
    world = Forked(tmp_path / "world")
    world.rewind = commands(world.project, world.home)
    world.make()
    if getattr(request, "param", "git") == "plain":
        shutil.rmtree(world.project / ".git")
        world.rewind.ok("save", "without git")
    return world


def torture(world: Forked, log: Path, args: tuple[str, ...], check: Callable[[Moment, int], None],
            codes: tuple[int, ...] = (0, 1)) -> None:
    """What git is killed at ends with a sentence and the code 1."""
    world.freeze()
    tally = Tally(" ".join(args))
    for number, moment in enumerate(moments(world, args, log, QUICK)):
        if tally.is_enough(moment):
            break
        world.thaw()
        killed = kill_at(world, args, moment, codes)
        try:
            tally.count(killed=killed, clean=world.check_valid())
            check(moment, number)
            assert world.check_valid()
            assert not world.leftovers(), world.leftovers()
        except AssertionError as error:
            raise AssertionError(f"killed at {moment}: {error}") from error
    print(tally)
    assert tally.killed > QUICK // 3, tally


def forked(world: Forked) -> tuple[Tree, list[str]]:
    """One future with work in it that is not saved."""
    world.rewind.ok("fork", TURN)
    (world.top / "project-fork-1" / "mine.txt").write_text("mine\n")
    (world.top / "project-fork-1" / "read-only").mkdir()
    (world.top / "project-fork-1" / "read-only" / "file").write_text("x")
    (world.top / "project-fork-1" / "read-only").chmod(0o555)
    return world.code(), world.conversations()


@pytest.mark.longest
@both_kinds
def test_a_killed_fork_is_whole_or_can_be_removed_and_made_again(world: Forked, tmp_path: Path) -> None:
    world.freeze()
    world.rewind.ok("fork", TURN)
    wanted, talks, trees = world.code(), len(world.conversations()), world.work_trees().count("\n")
    world.thaw()

    def check(moment: Moment, number: int) -> None:
        world.check_project()
        lanes = world.lanes
        there = world.directories()
        assert set(there) <= {os.path.basename(lane["dir"]) for lane in lanes.values()}, "nobody knows of it"
        for lane in lanes.values():
            if lane["state"] == "half-made":
                assert f"rewind forks remove {lane['name']}" in world.status()
                if number % 3 == 0:
                    continue  # it need not be removed first
                world.rewind.ok("forks", "remove", lane["name"])
                assert world.directories() == [] and world.conversations() == []
                assert "project-fork" not in world.work_trees()
            else:
                assert differences(wanted, world.code()) == {}
                assert len(world.conversations()) == talks
        made, = world.rewind.json("fork", TURN)["forks"]
        assert differences(wanted, world.code(made["name"])) == {}
        for lane in world.lanes.values():
            if lane["state"] == "half-made":
                world.rewind.ok("forks", "remove", lane["name"])
        assert len(world.conversations()) == talks * len(world.lanes)
        assert world.work_trees().count("\n") - trees == len(world.lanes) - 1 or not world.is_git
        assert {lane["state"] for lane in world.lanes.values()} == {"idle"}
        world.check_project()

    torture(world, tmp_path / "strace", ("fork", TURN), check)


@both_kinds
def test_a_killed_removal_is_finished_or_undone(world: Forked, tmp_path: Path) -> None:
    code, talks = forked(world)

    def check(moment: Moment, number: int) -> None:
        world.check_project()
        lane = world.lanes.get("fork-1")
        if lane and lane["state"] == "half-removed":
            assert "rewind forks remove fork-1" in world.status()
        if number % 2:
            if lane:
                world.rewind.ok("forks", "remove", "fork-1")
            assert (world.lanes, world.directories(), world.conversations()) == ({}, [], [])
            assert "project-fork" not in world.work_trees()
            world.rewind.ok("undo-restore")
        elif lane is None or lane["state"] == "half-removed":
            world.rewind.ok("forks", "undelete", "fork-1")
        elif world.interrupted():
            world.rewind.ok("undo-restore")
        assert differences(code, world.code()) == {}
        assert world.conversations() == talks and world.directories() == ["project-fork-1"]
        assert world.lanes["fork-1"]["state"] == "idle"
        world.check_project()

    torture(world, tmp_path / "strace", ("forks", "remove", "fork-1"), check)


def test_a_killed_return_is_finished_or_undone(world: Forked, tmp_path: Path) -> None:
    code, talks = forked(world)
    world.rewind.ok("forks", "remove", "fork-1")

    def check(moment: Moment, number: int) -> None:
        world.check_project()
        assert set(world.directories()) <= {os.path.basename(lane["dir"]) for lane in world.lanes.values()}
        if number % 2 and world.interrupted():
            world.rewind.ok("undo-restore")
            assert (world.lanes, world.directories(), world.conversations()) == ({}, [], [])
        if world.interrupted() or "fork-1" not in world.lanes or world.lanes["fork-1"]["state"] != "idle":
            world.rewind.ok("forks", "undelete", "fork-1")
        assert differences(code, world.code()) == {}
        assert world.conversations() == talks
        assert world.lanes["fork-1"]["state"] == "idle"
        world.check_project()

    torture(world, tmp_path / "strace", ("forks", "undelete", "fork-1"), check)


def test_a_killed_adoption_is_repeated_or_undone(world: Forked, tmp_path: Path) -> None:
    forked(world)
    world.freeze()
    world.rewind.ok("forks", "adopt", "fork-1", "--theirs")
    wanted = world.look().tree
    world.thaw()
    before = world.look().tree

    def check(moment: Moment, number: int) -> None:
        now = world.look().tree
        assert now in (before, wanted) or world.interrupted(), "half adopted, and nobody knows"
        if world.interrupted() or now == wanted:
            world.rewind.ok("undo-restore", "--force")
            assert differences(before, world.look().tree) == {}
        world.rewind.ok("forks", "adopt", "fork-1", "--theirs")
        assert differences(wanted, world.look().tree) == {}
        assert world.lanes["fork-1"]["state"] == "idle"

    torture(world, tmp_path / "strace", ("forks", "adopt", "fork-1", "--theirs"), check)
