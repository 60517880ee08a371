"""`rewind bisect` over 1,000 real checkpoints."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from rewind.controller import Controller
from rewind_cli import Rewind, Tree, differences, tree_state

pytestmark = pytest.mark.slow

COUNT = 1000
MOST_RUNS = 11
WRECK = "echo wrecked > n.txt; mkdir -p made; echo x > made/x; rm -f keep.txt; "


@pytest.fixture
def thousand(rewind: Rewind, monkeypatch: pytest.MonkeyPatch) -> Rewind:
    """Checkpoints with 1 to 1,000 in `n.txt`, each made as `rewind save` makes one."""
    (rewind.project / "n.txt").write_text("1\n")
    (rewind.project / "keep.txt").write_text("keep\n")
    rewind.init()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda fd: None)  # no test here is about losing power
        controller = Controller(str(rewind.project))
        for number in range(2, COUNT + 1):
            (rewind.project / "n.txt").write_text(f"{number}\n")
            controller.save(f"step {number}")
        controller.close()
    assert len(rewind.names()) == COUNT
    return rewind


def search(thousand: Rewind, first_bad: int, *options: str, wreck: str = "") -> int:
    """How many runs it took; the command counts them itself."""
    ran = thousand.project.parent / f"ran-{first_bad}-{len(options)}-{len(wreck)}"
    script = (f"echo >> '{ran}'; n=$(cat n.txt); test -e keep.txt && test ! -e made || exit 130;"
              f" {wreck} test $n -lt {first_bad}")
    oldest = thousand.names()[-1]
    found = thousand.json("bisect", "run", "--good", oldest, *options, "--", "sh", "-c", script)
    assert found["checkpoint"] == thousand.names()[COUNT - first_bad], found
    assert found["runs"] == len(ran.read_text())
    return int(found["runs"])


@pytest.mark.longest
@pytest.mark.slow
def test_the_first_bad_of_a_thousand_is_found_in_eleven_runs(thousand: Rewind) -> None:
    before = tree_state(thousand.project)
    runs = [search(thousand, first_bad) for first_bad in (2, 3, 500, 501, 777, 999, COUNT)]
    runs.append(search(thousand, 389, wreck=WRECK))
    runs.append(search(thousand, 612, "--in-place", wreck=WRECK))
    assert max(runs) <= MOST_RUNS, runs
    assert differences(before, tree_state(thousand.project)) == {}
    _killed_in_place(thousand, before)


def _killed_in_place(thousand: Rewind, before: Tree) -> None:
    """In the fourth run, with files changed by the command as well."""
    ran = thousand.project.parent / "ran"
    script = (f"n=$(cat n.txt); {WRECK} echo >> '{ran}'; test $(wc -l < '{ran}') = 4 && sleep 60;"
              " test $n -lt 42")
    process = subprocess.Popen([*thousand.command, "bisect", "run", "--in-place", "--", "sh", "-c", script],
                               cwd=thousand.project, env=thousand.env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        _wait_for_runs(process, ran, 4)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert differences(before, tree_state(thousand.project)), "it was not killed in the middle"
    thousand.ok("list")
    assert differences(before, tree_state(thousand.project)) == {}
    assert len([op for op in thousand.json("ops")["operations"] if op["interrupted"]]) == 0
    assert search(thousand, 42, "--in-place") <= MOST_RUNS


def _wait_for_runs(process: subprocess.Popen[bytes], ran: Path, count: int) -> None:
    for _ in range(1200):
        if process.poll() is not None or (ran.exists() and len(ran.read_text()) >= count):
            break
        time.sleep(0.1)
    assert process.poll() is None, process.communicate()
