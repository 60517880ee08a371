"""Many real processes in one project at the same time: one writes, the others wait, readers never do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable

import pytest

from rewind.controller import Controller
from rewind.errors import Locked
from rewind_cli import CHECKOUT, Result, Rewind, paths_of

pytestmark = pytest.mark.slow

SECONDS = 4.0
_HOLD = """
import sys; sys.path.insert(0, sys.argv[1])
from rewind.lock import Lock
with Lock(sys.argv[2], "restore", wait=5):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def three(rewind: Rewind) -> Rewind:
    """Three different states of a small tree."""
    for number in range(3):
        for folder in ("a", "b/c"):
            (rewind.project / folder).mkdir(parents=True, exist_ok=True)
            for name in range(6):
                (rewind.project / folder / f"{name}.txt").write_text(f"{number} {name}\n" * 50)
        (rewind.project / f"only-{number}").write_text(str(number))
        rewind.init() if not number else rewind.save(f"state {number}")
    return rewind


@pytest.fixture
def busy(three: Rewind) -> Iterator[Rewind]:
    """A project in which another process holds the lock all the time."""
    holder = subprocess.Popen([sys.executable, "-I", "-S", "-c", _HOLD, str(CHECKOUT / "src"),
                               str(three.state / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdin and holder.stdout
    assert holder.stdout.readline() == b"held\n"
    yield three
    holder.stdin.close()
    holder.stdout.close()
    holder.wait()


@pytest.mark.parametrize("command", [
    ("list",), ("list", "--all", "--json"), ("show", "last"), ("show", "2", "--files"),
    ("diff", "--stat", "3", "1"), ("diff", "3", "2"), ("diff", "last"), ("status",),
    ("restore", "3", "--dry-run"), ("undo", "--dry-run"), ("gc", "--dry-run"), ("save", "--dry-run"),
    ("validate",), ("validate", "--deep"), ("config",)], ids=" ".join)
def test_whoever_only_looks_does_not_wait_for_the_lock(busy: Rewind, command: tuple[str, ...]) -> None:
    busy.ok(*command)


def test_whoever_writes_gives_up_and_names_the_holder(busy: Rewind, monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in busy.env.items():
        monkeypatch.setenv(key, value)
    controller = Controller(str(busy.project))
    try:
        with pytest.raises(Locked, match="rewind restore"):
            controller.save("in vain", wait=0.1)
        with pytest.raises(Locked):
            controller.gc(1, wait=0.1)
        assert len(controller.list_checkpoints()) == 3
    finally:
        controller.close()


def for_a_while(action: Callable[[int], Result]) -> list[Result]:
    end = time.monotonic() + SECONDS
    done: list[Result] = []
    while time.monotonic() < end:
        done.append(action(len(done)))
    return done


def metadata(rewind: Rewind) -> list[dict[str, object]]:
    files = (rewind.state / "checkpoints").glob("*/metadata.json")
    return sorted((json.loads(f.read_text()) for f in files), key=lambda m: m["sequence"])


@pytest.mark.slow
def test_processes_of_all_kinds_at_once_leave_a_sound_store(three: Rewind) -> None:
    project = three.project

    def save(who: str) -> Callable[[int], Result]:
        def one(number: int) -> Result:
            (project / f"edited-by-{who}").write_text(f"{number}\n")
            return three.run("save", "--json", f"{who} {number}")
        return one

    def go_back(number: int) -> Result:
        target = ("prev", "last~2", "last~3")[number % 3]
        return three.run("restore", target, "--force", "--json")

    def undo(number: int) -> Result:
        return three.run(*(("undo", "redo", "undo-restore")[number % 3], "--force", "--json"))

    def look(number: int) -> Result:
        commands = (("list", "--json"), ("list", "--all"), ("show", "last"),
                    ("diff", "--stat", "prev", "last"))
        return three.run(*commands[number % 4])

    def collect(number: int) -> Result:
        time.sleep(0.2)
        return three.run("gc", "--keep", "12", "--json")

    with ThreadPoolExecutor(7) as pool:
        savers = [pool.submit(for_a_while, save(who)) for who in ("anna", "bert")]
        back = [pool.submit(for_a_while, action) for action in (go_back, undo)]
        readers = [pool.submit(for_a_while, look) for _ in range(2)]
        collector = pool.submit(for_a_while, collect)

    looked = [r for f in readers for r in f.result()]
    assert [r for r in looked if r.code] == [] and looked
    saved = [r for f in savers for r in f.result()]
    assert {r.code for r in (*saved, *collector.result())} <= {0, 11}
    names = [r.data["checkpoint"] for r in saved if r.code == 0]
    assert names and len(set(names)) == len(names)
    restored = [r for f in back for r in f.result()]
    # 12: nothing to undo or redo just then. 3: somebody edited a file while it was restored.
    assert {r.code for r in restored} <= {0, 3, 11, 12, 13}
    for result in restored:
        if result.code == 3:
            assert paths_of(result.data["remaining"]) <= {b"edited-by-anna", b"edited-by-bert"}
    assert any(r.code == 0 for r in restored)

    three.ok("validate", "--deep")
    records = metadata(three)
    sequences = [m["sequence"] for m in records]
    assert len(set(sequences)) == len(sequences)
    assert sorted(str(m["name"]) for m in records) == [m["name"] for m in records]
    assert sorted(three.names(backups=True)) == [m["name"] for m in records]
    assert not [n for n in os.listdir(three.state) if n.endswith(".tmp") or n.startswith("temporary-")]


def test_savers_that_come_together_all_get_a_checkpoint_of_their_own(three: Rewind) -> None:
    with ThreadPoolExecutor(6) as pool:
        saved = list(pool.map(lambda n: three.save(f"number {n}"), range(6)))
    assert len(set(saved)) == 6
    records = [m for m in metadata(three) if m["name"] in saved]
    assert [m["sequence"] for m in records] == list(range(4, 10))
    parents = [m["parent"] for m in records]
    assert parents[1:] == [m["name"] for m in records][:-1]


def test_two_that_protect_a_directory_at_once_end_with_one_store(rewind: Rewind, project: Path) -> None:
    (project / "file").write_text("one")
    with ThreadPoolExecutor(3) as pool:
        codes = [r.code for r in pool.map(lambda _: rewind.run("init"), range(3))]
    assert 0 in codes
    rewind.save("afterwards")
    rewind.ok("validate", "--deep")
