"""A process that swaps a directory for a link to the outside while Rewind works in it.

The same swaps one at a time, at a chosen moment, are in `snapshot/apply/test_apply.py`,
`snapshot/scan/test_live.py` and `fidelity/test_fidelity.py`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from attacks.swapper import can_swap, swapping
from rewind.controller import Controller
from rewind.errors import RewindError
from rewind_cli import Rewind, differences, tree_state

ROUNDS = int(os.environ.get("REWIND_ATTACK_ROUNDS", "25"))
pytestmark = [pytest.mark.slow, pytest.mark.skipif(
    not can_swap(), reason="two names cannot change places in one step here")]
SECRET = "a secret of somebody else\n"


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    monkeypatch.setattr("rewind.checkpoint.save.save._later", lambda state, chore: None)
    warnings.filterwarnings("ignore", ".*multi-threaded, use of fork", DeprecationWarning)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory with the same names in it as the one that is swapped, so that every wrong step hits."""
    folder = tmp_path / "outside"
    (folder / "deep").mkdir(parents=True)
    for name in ("one.txt", "two.txt", "later.txt", "secret.txt", "deep/three.txt"):
        (folder / name).write_text(SECRET)
    (folder / "one.txt").chmod(0o640)
    return folder


@pytest.fixture
def raced(rewind: Rewind) -> Iterator[Controller]:
    """Two checkpoints that differ in everything that a restore can do in a directory."""
    folder = rewind.project / "src" / "work"
    (folder / "deep").mkdir(parents=True)
    (folder / "gone").mkdir()
    for name in ("one.txt", "two.txt", "deep/three.txt"):
        (folder / name).write_text("first\n")
    controller, _ = Controller.init(str(rewind.project), home=str(rewind.home / ".rewind"))
    for name in ("one.txt", "deep/three.txt"):
        (folder / name).write_text("second\n")
    (folder / "two.txt").unlink()
    (folder / "gone").rmdir()
    (folder / "later.txt").write_text("later\n")
    controller.save("second")
    yield controller
    controller.close()


@pytest.mark.parametrize("swapped", ["src/work", "src"])
def test_a_restore_writes_and_deletes_nothing_outside(raced: Controller, outside: Path, swapped: str) -> None:
    root = Path(raced.project.root)
    names = [record.name for record in raced.list_checkpoints()]
    target = outside if swapped == "src/work" else outside.parent / "above"
    if swapped == "src":
        target.mkdir()
        (outside).rename(target / "work")
        outside = target / "work"
    before = tree_state(target)
    done = 0
    with swapping(root / swapped, target):
        for number in range(ROUNDS):
            try:
                raced.restore(names[number % 2], mode="code", force=True)
                done += 1
            except (RewindError, OSError):
                continue
            finally:
                assert differences(before, tree_state(target)) == {}, f"in round {number}"
    assert done, "no restore came through; the race was not one"
    raced.restore(names[0], mode="code", force=True)
    assert (root / "src/work/one.txt").read_text() == "second\n"
    assert differences(before, tree_state(target)) == {}


@pytest.mark.parametrize("swapped", ["src/work", "src"])
def test_a_checkpoint_holds_nothing_from_outside(raced: Controller, outside: Path, swapped: str) -> None:
    root = Path(raced.project.root)
    target = outside
    if swapped == "src":
        target = outside.parent / "above"
        target.mkdir()
        outside.rename(target / "work")
    inside = root / "src/work/one.txt"
    with swapping(root / swapped, target):
        for number in range(ROUNDS):
            if not inside.parent.is_symlink() and not inside.parent.parent.is_symlink():
                inside.parent.joinpath(f"new-{number}.txt").touch()
            try:
                name = raced.save(f"round {number}").record.name
            except (RewindError, OSError):
                continue
            assert _outside_in(raced, name) == [], f"in round {number}"


def _outside_in(controller: Controller, name: str) -> list[str]:
    """What a checkpoint holds below the directory that can only be from outside."""
    found = []
    with controller.source(controller.find(name)) as source:
        for path, entry in controller.files(name):
            if ((path.endswith(b"secret.txt") and entry.kind != b"u")
                    or (entry.kind == b"f" and source.blobs.get(entry.ref) == SECRET.encode())):
                found.append(os.fsdecode(path))
    return found
