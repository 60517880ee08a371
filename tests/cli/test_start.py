"""What people run all day starts quickly: not by the clock, which no test looks at, but by what is loaded."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from rewind_cli import Rewind

ENTRY = Path(__file__).resolve().parents[2] / "src" / "rewind" / "start.py"
# Each takes as long to load as a fifth of all that a list does.
SLOW = {"typing", "re", "enum", "dataclasses", "argparse", "json", "collections", "subprocess", "shutil"}


def loaded(rewind: Rewind, *argv: str) -> set[str]:
    done = subprocess.run([sys.executable, "-I", "-S", "-X", "importtime", str(ENTRY), *argv],
                          cwd=rewind.project, env=rewind.env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return set(re.findall(r"^import time:.*\| +(\S+)$", done.stderr, re.M))


def test_what_is_run_all_day_loads_nothing_that_takes_long(rewind: Rewind) -> None:
    (rewind.project / "a").write_text("one")
    rewind.init()
    (rewind.project / "a").write_text("two")
    (rewind.project / "new").mkdir()
    for number in range(9):  # enough to be folded in what a restore says
        (rewind.project / "new" / f"file {number}").write_text(str(number))
    before = SLOW & loaded(rewind, "version")  # by Python itself, as some versions do
    for argv in (["list"], ["save", "two"], ["restore", "last~1", "--code-only"], ["undo-restore"], ["redo"]):
        assert SLOW & loaded(rewind, *argv) == before, argv


def test_a_save_while_the_first_checkpoint_is_packed_loads_nothing_that_takes_long(rewind: Rewind) -> None:
    """It asks whether somebody is at it already."""
    run = f"import sys; sys.path.insert(0, {str(ENTRY.parents[1])!r})\n" \
          "before = set(sys.modules); import rewind.checkpoint.upkeep.pieces\n" \
          "print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", run], env=rewind.env, capture_output=True,
                          text=True, check=True)
    assert "rewind.store.packing" in done.stdout.split() and not SLOW & set(done.stdout.split())
