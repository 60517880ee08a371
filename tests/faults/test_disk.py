"""A disk that is really full or read-only, directories without permission, clocks that nobody can trust."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

import pytest
from fault_check import check_in_child, load_library, what_is_wanted
from fault_points import Run, run, short_write_library
from fault_scenarios import Scenario, scenario
from fault_world import World, copy

from rewind_cli import PROGRAM, Rewind, paths_of, tree_state

pytestmark = pytest.mark.slow

DAY = 86_400
FULL = ("save", "restore", "undo-restore", "back", "back --both --in-place", "gc", "hook: prompt")


# a small disk

@contextmanager
def small_disk(at: Path, size: str) -> Iterator[None]:
    at.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(at)]
    done = subprocess.run(mount, capture_output=True)
    if done.returncode:
        pytest.skip("NOT TESTED: no small file system can be mounted here, so no disk can be filled")
    try:
        yield
    finally:
        subprocess.run(["umount", str(at)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", "24m"):
        yield tmp_path / "disk"


def fill(disk: Path, leave: int) -> Path:
    ballast = disk / "ballast"
    found = os.statvfs(disk)
    with open(ballast, "wb") as file:
        file.write(bytes(max(0, found.f_bavail * found.f_frsize - leave)))
    return ballast


class Prepared:
    """A scenario on a disk of its own, run once in peace to know what it comes to."""

    def __init__(self, disk: Path, chosen: Scenario) -> None:
        load_library()
        self.scenario = chosen
        self.world = World(disk / "w")
        self.world.make(protected=chosen.protected)
        chosen.setup(self.world)
        self.world.freeze()
        self.world.thaw()
        assert self.run().code == 0
        self.wanted = what_is_wanted(self.world, self.world.facts)

    def run(self) -> Run:
        world = self.world
        done = run(self.scenario.command(world), world.env, world.project, self.scenario.stdin(world))
        world.wait_for_others()
        return done


@pytest.mark.parametrize("name", FULL)
def test_a_full_disk_costs_the_command_and_nothing_else(name: str, disk: Path) -> None:
    prepared = Prepared(disk, scenario(name))
    for number, leave in enumerate((0, 4096, 12 << 10, 40 << 10, 100 << 10)):
        prepared.world.thaw()
        ballast = fill(disk, leave)
        said = prepared.run()
        ballast.unlink()
        assert check_in_child(prepared.world, prepared.scenario, prepared.wanted, said, "full", way=number,
                              thorough=number == 0) == "", leave


def test_what_found_no_space_does_not_pass_for_written(disk: Path, home: Path) -> None:
    project = disk / "project"
    project.mkdir()
    for name in "ab":
        (project / name).write_bytes(os.urandom(2 << 20))
    rewind = Rewind(project, home)
    rewind.init()
    for name in "ab":
        (project / name).write_text("short")
    (project / "new").write_text("new")
    fill(disk, 3 << 20)
    done = rewind.json("restore", "1", code=3)
    assert len(done["written"]) == len(done["remaining"]) == 1
    assert paths_of(done["deleted"]) == {b"new"}
    assert {*paths_of(done["written"]), *paths_of(done["remaining"])} == {b"a", b"b"}
    assert rewind.json("ops")["operations"][0]["written"] == 1


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)


def test_a_read_only_disk_is_told_in_one_sentence_and_can_be_looked_at(disk: Path) -> None:
    world = World(disk / "w")
    world.make()
    before = world.look()
    name = world.marks["manual"]
    with read_only(disk):
        for args in (["list"], ["show", name], ["diff", name], ["status"], ["cat", f"{name}:src/app.py"],
                     ["sessions", "list"]):
            world.rewind.ok(*args)
        for args in (["save"], ["restore", name, "--force"], ["undo"], ["back"], ["gc", "--keep", "1"],
                     ["back", "1", "--in-place", "--force"], ["config", "--set", "storage.maxSizeMb=512"]):
            done = world.rewind.run(*args)
            lines = [line for line in done.err.splitlines() if line.startswith("error: ")]
            assert done.code == 1 and len(lines) == 1, (args, done)
        world.rewind.ok("restore", name, "--to", str(disk.parent / "elsewhere"))
    assert world.look() == before
    found = tree_state(disk.parent / "elsewhere")
    assert found == {p: w for p, w in world.trees[name].items() if not p.startswith(b"node_modules")}
    assert world.rewind.json("validate", "--deep")["ok"] is True


# permissions

@pytest.mark.parametrize("closed", ["", "checkpoints", "objects.db"])
def test_a_state_directory_without_permission_is_one_sentence(user: Rewind, closed: str) -> None:
    (user.project / "a").write_text("one\n")
    if os.geteuid() == 0:
        os.chown(user.project / "a", 65534, 65534)
    user.init()
    (name,) = user.names()
    path = user.state / closed
    mode = path.stat().st_mode & 0o777
    (user.project / "a").write_text("two\n")
    path.chmod(0o400 if path.is_file() else 0o500)
    user.fails(1, "save")
    user.fails(1, "restore", name)
    assert (user.project / "a").read_text() == "two\n"
    path.chmod(mode)
    user.ok("restore", name)
    assert (user.project / "a").read_text() == "one\n"


def test_projects_that_cannot_be_looked_up_are_not_said_to_be_none(user: Rewind) -> None:
    user.init()
    known = user.home / ".rewind" / "known-stores.json"
    known.chmod(0)
    for command in ("projects", "list"):
        assert "Rewind cannot read" in user.fails(1, command, hint="Make it yours again")
    known.chmod(0o600)
    assert len(user.json("projects")["projects"]) == 1


@pytest.mark.parametrize("words", [[], ["--deep"], ["--deep", "--repair", "--yes"]])
def test_a_store_that_cannot_be_opened_now_is_not_called_damaged(user: Rewind, words: list[str]) -> None:
    user.init()
    path = user.state / "objects.db"
    path.chmod(0)
    assert "cannot be used right now" in user.fails(1, "validate", *words)
    path.chmod(0o600)
    user.ok("validate", "--deep")


# clocks

@pytest.fixture
def clock(tmp_path: Path) -> Path:
    library = short_write_library(tmp_path)
    if not library:
        pytest.skip("NOT TESTED: no C compiler here, so the clock cannot be moved")
    return library


def at_time(rewind: Rewind, library: Optional[Path], shift: int, *args: str) -> str:
    env = {"LD_PRELOAD": str(library), "REWIND_CLOCK_SHIFT": str(shift)}
    done = rewind.run(*args, env=env)
    assert done.code == 0, done
    return done.out


def test_the_clock_is_really_moved(rewind: Rewind, clock: Path) -> None:
    rewind.init()
    at_time(rewind, clock, -400 * DAY, "save", "long ago")
    names = rewind.names()
    assert names[0] < names[1], "otherwise the tests below say nothing"


@pytest.mark.parametrize("shifts", [(0, -3 * DAY, 60), (0, 3600, -3600, 3600, -3600), (-400 * DAY, 0, -1)])
def test_the_order_of_checkpoints_does_not_depend_on_clocks(rewind: Rewind, clock: Path,
                                                            shifts: tuple[int, ...]) -> None:
    """A clock that jumps, and two machines that share a project and differ by hours."""
    (rewind.project / "a").write_text("init")
    rewind.init()
    trees = []
    for number, shift in enumerate(shifts):
        (rewind.project / "a").write_text(f"{number:04}")  # the same size each time
        at_time(rewind, clock, shift, "save", str(number))
        trees.append(tree_state(rewind.project))
    found = rewind.json("list")["checkpoints"]
    assert [c["description"] for c in found[:len(shifts)]] == [str(n) for n in reversed(range(len(shifts)))]
    assert len({c["name"] for c in found}) == len(found)
    for back, tree in enumerate(reversed(trees), 1):
        target = rewind.project.parent / f"out-{back}"
        rewind.ok("restore", str(len(trees) + 2 - back), "--to", str(target))  # its number, from the oldest
        assert tree_state(target) == tree
    at_time(rewind, clock, -2 * DAY, "undo")
    assert tree_state(rewind.project) == trees[-2]
    at_time(rewind, clock, DAY, "redo")
    assert tree_state(rewind.project) == trees[-1]
    assert rewind.json("validate", "--deep")["ok"] is True


def test_a_collection_by_a_clock_of_the_future_keeps_what_is_never_collected(rewind: Rewind,
                                                                             clock: Path) -> None:
    rewind.init()
    for number in range(3):
        (rewind.project / "a").write_text(str(number))
        rewind.save(str(number))
    at_time(rewind, clock, 4000 * DAY, "gc")
    at_time(rewind, clock, -4000 * DAY, "gc")
    assert len(rewind.names()) == 4


def test_a_copy_of_the_whole_project_is_restored_elsewhere(rewind: Rewind, tmp_path: Path) -> None:
    """Inodes, devices and times are all others then; nothing may rely on them."""
    (rewind.project / "a").write_text("one\n")
    rewind.init("project")
    (rewind.project / "a").write_text("two\n")
    other = Rewind(tmp_path / "other", rewind.home, program=PROGRAM)
    copy(rewind.project, other.project)
    other.ok("init", "--trust")  # a copy beside its original is used only when a person says so
    (other.project / "a").write_text("six\n")
    other.ok("restore", "last")
    assert (other.project / "a").read_text() == "one\n"
    assert (rewind.project / "a").read_text() == "two\n"
