"""The store's lock is held to write. While a place is looked at, or files are written in it, others go on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable

import pytest

from checkpoint.project.test_places import Repository, cli, repository  # noqa: F401
from rewind.checkpoint.project.locked import locked, locked_for_upkeep
from rewind.checkpoint.project.state import State
from rewind.checkpoint.rewind.target import AtCheckpoint
from rewind.checkpoint.save.capture import capture
from rewind.checkpoint.save.create import write_record
from rewind.controller import Controller
from rewind.errors import Locked
from rewind_cli import CHECKOUT, tree_state

NO_LONGER_RACY = 2.1  # seconds, after which a file that looks as it did is not read again
_SAVE = """
import sys
sys.path.insert(0, sys.argv[1])
from rewind.controller import Controller
def wait(what, done, total):
    print("reading", flush=True)
    sys.stdin.read()
Controller(sys.argv[2], home=sys.argv[3]).save("killed", progress=wait)
"""


@contextmanager
def opened(repository: Repository, tree: Path) -> Iterator[Controller]:  # noqa: F811
    controller = Controller(str(tree), home=str(repository.cli.home / ".rewind"))
    try:
        yield controller
    finally:
        controller.close()


class Once:
    """A progress callback that does something at the first word of one kind, while the work is half done."""

    def __init__(self, what: str, action: Callable[[], Any]) -> None:
        self.what = what
        self.action = action
        self.done = False

    def __call__(self, what: str, done: int, total: int) -> None:
        if what == self.what and not self.done:
            self.done = True
            self.action()


def save_beside(repository: Repository, tree: Path, action: Callable[[], Any]) -> str:  # noqa: F811
    """A checkpoint of a place, with something else done after the tree was listed."""
    once = Once("Reading files", action)
    with opened(repository, tree) as controller:
        name = controller.save("beside others", progress=once).record.name
    assert once.done
    return name


def back_to(repository: Repository, tree: Path, name: str) -> dict[bytes, tuple[Any, ...]]:  # noqa: F811
    target = tree.parent / f"out-{name}"
    repository.run(tree, "restore", name, "--to", str(target))
    return files_of(target)


def files_of(tree: Path) -> dict[bytes, tuple[Any, ...]]:
    return {path: what for path, what in tree_state(tree).items()
            if not path.startswith((b".git", b".agent", b".claude"))}


def try_to_save(repository: Repository, tree: Path) -> bool:  # noqa: F811
    with opened(repository, tree) as controller:
        try:
            return bool(controller.save("meanwhile", wait=0).created)
        except Locked:
            return False


def test_a_place_is_looked_at_while_another_one_saves(repository: Repository) -> None:  # noqa: F811
    tried: list[bool] = []
    repository.save(repository.beside, "one")
    repository.write(repository.main, "two, in main")
    repository.write(repository.beside, "two, beside")
    name = save_beside(repository, repository.main,
                       lambda: tried.append(try_to_save(repository, repository.beside)))
    assert tried == [True]
    assert repository.names(repository.main)[0] == name
    assert len(repository.names(repository.beside)) == 2
    assert back_to(repository, repository.main, name) == files_of(repository.main)
    assert repository.run(repository.main, "validate", "--deep")["ok"]


def test_nobody_else_works_in_the_place_that_is_looked_at(repository: Repository) -> None:  # noqa: F811
    tried: list[bool] = []
    repository.write(repository.main, "two")
    save_beside(repository, repository.main, lambda: tried.append(try_to_save(repository, repository.main)))
    assert tried == [False]


def test_files_are_restored_while_another_place_saves(repository: Repository) -> None:  # noqa: F811
    first = repository.save(repository.main, "one")
    repository.save(repository.main, "two")
    repository.save(repository.beside, "beside, one")
    repository.write(repository.beside, "beside, two")
    tried: list[bool] = []

    def others() -> None:
        tried.append(try_to_save(repository, repository.beside))
        tried.append(try_to_save(repository, repository.main))

    with opened(repository, repository.main) as controller:
        outcome = controller.go(AtCheckpoint(first), "code", progress=Once("Writing files", others))
    assert outcome.complete and repository.read(repository.main) == "one"
    assert tried == [True, False], "the place itself is not looked at while it is half restored"
    assert repository.read(repository.beside) == "beside, two"
    assert repository.run(repository.main, "undo-restore")["operation"]
    assert repository.read(repository.main) == "two"


def test_a_restore_under_way_is_not_taken_for_a_killed_one(repository: Repository) -> None:  # noqa: F811
    first = repository.save(repository.main, "one")
    repository.save(repository.main, "two")
    seen: list[object] = []

    def look() -> None:
        with opened(repository, repository.main) as other:
            seen.append(other.state.interrupted())

    with opened(repository, repository.main) as controller:
        controller.go(AtCheckpoint(first), "code", progress=Once("Writing files", look))
    assert seen == [None]


def test_what_a_collection_takes_away_meanwhile_is_stored_again(repository: Repository) -> None:  # noqa: F811
    """The content is in the store when the scan asks for it, and in no checkpoint a moment later."""
    beside = repository.beside
    (beside / "early").mkdir()
    (beside / "late").mkdir()
    (beside / "early" / "only").write_text("only in one checkpoint\n")
    gone = repository.save(beside, "with it")
    (beside / "early" / "only").unlink()
    repository.save(beside, "without it")
    # Directories are read from the end: `a-copy` lies in one that is read before the last file is.
    (repository.main / "z").mkdir()
    (repository.main / "z" / "a-copy").write_text("only in one checkpoint\n")
    repository.write(repository.main, "read after it")

    def collect() -> None:
        with opened(repository, beside) as other:
            other.delete([gone], force=True)

    name = _save_when(repository, repository.main, 2, collect)
    assert gone not in repository.names(beside, "--all")
    assert back_to(repository, repository.main, name) == files_of(repository.main)
    assert repository.run(repository.main, "validate", "--deep")["ok"]


def _save_when(repository: Repository, tree: Path, number: int,  # noqa: F811
               action: Callable[[], Any]) -> str:
    """`action` before the file with this number is read."""
    count = 0

    def progress(what: str, done: int, total: int) -> None:
        nonlocal count
        count += what == "Reading files"
        if what == "Reading files" and count == number:
            action()

    with opened(repository, tree) as controller:
        return controller.save("beside a collection", progress=progress).record.name


def test_a_hook_of_an_earlier_version_may_look_meanwhile(repository: Repository) -> None:  # noqa: F811
    """It knows the store's lock alone. What it saw must not be mixed with what was seen before it."""
    main = repository.main
    for folder in ("x/y", "x/z"):
        (main / folder).mkdir(parents=True)
        (main / folder / "f").write_text("one\n")
    time.sleep(NO_LONGER_RACY)
    repository.save(main, "one")
    repository.save(repository.beside, "one")  # with one place alone, nobody steps aside
    (main / "x" / "z" / "f").write_text("two, before both\n")

    def old_hook() -> None:
        (main / "x" / "y" / "f").write_text("two, after the walk\n")
        time.sleep(NO_LONGER_RACY)
        with opened(repository, main) as other, locked_for_upkeep(other.state, "save", 0):
            draft = capture(other.state, other.state.rules(), release_lock=False)
            write_record(other.state, draft, "auto", "of an earlier version")

    name = save_beside(repository, main, old_hook)
    assert back_to(repository, main, name) == files_of(main)
    later = repository.run(main, "save", "nothing new")["checkpoint"]
    assert back_to(repository, main, later) == files_of(main)


@pytest.mark.slow
def test_more_than_fits_into_memory_is_stored_in_turns(repository: Repository) -> None:  # noqa: F811
    for number in range(6):
        (repository.main / f"d{number}").mkdir()
        (repository.main / f"d{number}" / "f.bin").write_bytes(random.Random(number).randbytes(9 << 20))
    tried: list[bool] = []
    repository.save(repository.beside, "one")
    repository.write(repository.beside, "two")
    name = _save_when(repository, repository.main, 5,
                      lambda: tried.append(try_to_save(repository, repository.beside)))
    assert tried == [True]
    assert back_to(repository, repository.main, name) == files_of(repository.main)
    assert repository.run(repository.main, "validate", "--deep")["ok"]


def test_one_that_is_killed_while_it_looks_leaves_no_lock_and_no_checkpoint(
        repository: Repository) -> None:  # noqa: F811
    before = repository.names(repository.main)
    repository.write(repository.main, "two")
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _SAVE, str(CHECKOUT / "src"), str(repository.main),
         str(repository.cli.home / ".rewind")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "HOME": str(repository.cli.home)})
    assert process.stdin and process.stdout and process.stdout.readline() == b"reading\n"
    assert not try_to_save(repository, repository.main)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()
    assert repository.names(repository.main) == before
    assert try_to_save(repository, repository.main)
    assert repository.run(repository.main, "validate", "--deep")["ok"]


def test_a_move_of_the_store_waits_for_every_place(repository: Repository) -> None:  # noqa: F811
    """Otherwise what a restore elsewhere has begun could not be noted as done."""
    repository.save(repository.beside, "one")
    repository.write(repository.beside, "two")
    refused: list[bool] = []

    def move() -> None:
        with opened(repository, repository.main) as other:
            state: State = other.state
            with pytest.raises(Locked), locked(state, "config", 0, all_places=True):
                pass
            refused.append(True)

    save_beside(repository, repository.beside, move)
    assert refused == [True]
