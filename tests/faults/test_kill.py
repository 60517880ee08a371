"""`kill -9` at any moment: earlier checkpoints restore bit for bit, and the next command goes on.

A sample by default; REWIND_TORTURE=1 kills after every system call and at as many random moments.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from kill_driver import Moment, Project, Tally, kill_at, moments, rerun

from rewind_cli import Rewind, tree_state

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="needs kill -9")]
QUICK = 18


@pytest.fixture
def place(tmp_path: Path, home: Path, commands: Callable[[Path, Path], Rewind]) -> Project:
    """Three checkpoints of a small tree with a bit of everything."""
    project = Project(tmp_path, home, commands)
    root = project.root
    _fill(root, "first")
    (root / "gone-later.txt").write_text("only in the first\n")
    (root / "kind").write_text("a file first\n")
    project.rewind.init("project")  # so that a copy of it has all of its past
    (initial,) = project.rewind.names()
    project.trees[initial] = tree_state(root)
    _fill(root, "second")
    (root / "gone-later.txt").unlink()
    (root / "kind").unlink()
    (root / "kind").mkdir()
    (root / "kind/inside").write_text("a directory then\n")
    project.save()
    _fill(root, "third")
    project.save()
    return project


def _fill(root: Path, text: str) -> None:
    for number in range(8):
        folder = root / f"d{number % 3}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{number}").write_text(f"{text} {number}\n" * 20)
    (root / f"new-{text}").write_text(text)
    (root / "empty" / text).mkdir(parents=True)
    (root / f"link-{text}").symlink_to(text)
    (root / "locked").mkdir(exist_ok=True)
    (root / "locked").chmod(0o755)
    (root / "locked/file").write_text(text)
    (root / "locked").chmod(0o555)


def torture(project: Project, log: Path, args: tuple[str, ...],
            check: Callable[[Project, Moment], None]) -> None:
    """Kill `args` at one moment after the other, each time from the same state."""
    project.freeze()
    tally = Tally(args[0])
    for number, moment in enumerate(moments(project, args, log, QUICK)):
        if tally.is_enough(moment):
            break
        project.thaw()
        killed = kill_at(project, args, moment)
        try:
            tally.count(killed=killed, clean=project.check_valid())
            check(project, moment)
            left = project.rewind.names(backups=True)
            survivors = [name for name in project.trees if name in left]
            for name in survivors if number % 6 == 0 else survivors[:1]:
                project.check_restores(name)
        except AssertionError as error:
            raise AssertionError(f"killed at {moment}: {error}") from error
    print(tally)
    assert tally.killed > QUICK // 3, tally


@pytest.mark.longest
def test_a_killed_save_leaves_every_earlier_checkpoint_and_the_next_one_works(
        place: Project, tmp_path: Path) -> None:
    names = list(place.trees)
    _fill(place.root, "fourth")
    fourth = tree_state(place.root)

    def check(project: Project, moment: Moment) -> None:
        project.check_tree(fourth, "a save must not touch the project")
        found = project.rewind.names()
        assert set(names) <= set(found)
        for extra in set(found) - set(names):
            project.trees[extra] = fourth
            project.check_restores(extra)
            del project.trees[extra]
        saved = project.save()
        project.check_restores(saved)
        del project.trees[saved]

    torture(place, tmp_path / "strace", ("save", "to be killed"), check)


@pytest.mark.longest
def test_a_killed_restore_is_finished_by_repeating_it_or_taken_back(
        place: Project, tmp_path: Path) -> None:
    first = min(place.trees)
    _fill(place.root, "damage")
    (place.root / "d0/f0").unlink()
    damaged, wanted = tree_state(place.root), place.trees[first]

    def check(project: Project, moment: Moment) -> None:
        steps = project.history()["entries"]
        if len(steps) == project.frozen_steps:
            project.check_tree(damaged, "changed before the history knew of it")
            rerun(project, "restore", first)
            project.check_tree(wanted, "restored after a kill")
            return
        assert steps[-1]["in_progress"] or project.tree() == wanted
        if moment.number % 2:
            rerun(project, "restore", first)
            project.check_tree(wanted, "finished by repeating it")
            assert not project.history()["entries"][-1]["in_progress"]
        rerun(project, "undo-restore")
        project.check_tree(damaged, "taken back")
        assert project.check_valid()

    torture(place, tmp_path / "strace", ("restore", first), check)


def test_an_interrupted_restore_is_announced_by_the_next_commands(
        place: Project, tmp_path: Path) -> None:
    first = min(place.trees)
    _fill(place.root, "damage")
    place.freeze()
    for moment in reversed(moments(place, ("restore", first), tmp_path / "strace", QUICK)):
        place.thaw()
        kill_at(place, ("restore", first), moment)
        if any(step["in_progress"] for step in place.history()["entries"]):
            break
    else:
        pytest.skip("no moment was found at which the restore is half done")
    for command in (["status"], ["list"]):
        said = rerun(place, *command)
        assert "undo-restore" in said.out + said.err, command


@pytest.mark.longest
def test_a_killed_undo_restore_is_finished_by_repeating_it(place: Project, tmp_path: Path) -> None:
    first = min(place.trees)
    _fill(place.root, "damage")
    (place.root / "d0/f0").unlink()
    damaged = tree_state(place.root)
    place.rewind.ok("restore", first)

    def check(project: Project, moment: Moment) -> None:
        done = len(project.history()["entries"]) < project.frozen_steps
        if not done:
            rerun(project, "undo-restore")
        project.check_tree(damaged, "the restore is taken back")
        assert project.check_valid()
        rerun(project, "restore", first)
        project.check_tree(project.trees[first], "and can be made again")

    torture(place, tmp_path / "strace", ("undo-restore",), check)


@pytest.mark.longest
def test_a_killed_gc_harms_no_checkpoint_that_is_left(place: Project, tmp_path: Path) -> None:
    for text in ("fourth", "fifth"):
        _fill(place.root, text)
        (place.root / "big").write_bytes(os.urandom(200_000))
        place.save()
    everything = dict(place.trees)
    newest = sorted(everything)[-2:]
    tree = tree_state(place.root)

    def check(project: Project, moment: Moment) -> None:
        project.check_tree(tree, "gc must not touch the project")
        left = project.rewind.names()
        assert set(newest) <= set(left)
        for name in left:
            project.check_restores(name)
        project.rewind.ok("gc", "--keep", "2")
        assert sorted(project.rewind.names()) == newest
        for name in newest:
            project.check_restores(name)

    torture(place, tmp_path / "strace", ("gc", "--keep", "2"), check)


def test_a_killed_init_is_finished_by_repeating_it(tmp_path: Path, home: Path,
                                                   commands: Callable[[Path, Path], Rewind]) -> None:
    project = Project(tmp_path, home, commands)
    _fill(project.root, "first")
    wanted = tree_state(project.root)

    def check(project: Project, moment: Moment) -> None:
        rerun(project, "init")
        project.check_tree(wanted, "init must not touch the project")
        saved = project.save()
        project.check_restores(saved)
        del project.trees[saved]

    project.frozen_names, project.frozen_steps = [], 0
    _torture_init(project, tmp_path / "strace", check)


def _torture_init(project: Project, log: Path, check: Callable[[Project, Moment], None]) -> None:
    from kill_driver import _copy

    _copy(project.root, project.template)
    tally = Tally("init")
    for moment in moments(project, ("init",), log, QUICK // 2):
        if tally.is_enough(moment):
            break
        project.thaw()
        killed = kill_at(project, ("init",), moment)
        try:
            check(project, moment)
            tally.count(killed=killed, clean=project.check_valid())
        except AssertionError as error:
            raise AssertionError(f"killed at {moment}: {error}") from error
    print(tally)
