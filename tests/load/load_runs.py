"""Running the program under measure: how long it took, how much memory each of its processes had at most."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, Optional

from rewind_cli import PROGRAM, clean_env, state_of

ENTRY = PROGRAM.parent.parent / "src" / "rewind" / "hooks" / "start.py"


# A process inherits the peak of the one that starts it, so that has to be a small one.
_STARTER = """
import os, sys, time
told = int(sys.argv[1])
os.set_inheritable(told, False)
began = time.perf_counter()
child = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(child, 0)
code, seconds = os.waitstatus_to_exitcode(status), time.perf_counter() - began
os.write(told, f"{code} {seconds} {usage.ru_maxrss}".encode())
"""


class Run(NamedTuple):
    code: int
    seconds: float
    peak_mb: int
    out: bytes
    err: bytes


class Program:
    def __init__(self, project: Path, home: Path) -> None:
        self.project = project
        self.home = home
        self.env = clean_env(home)
        project.mkdir(parents=True, exist_ok=True)
        home.mkdir(parents=True, exist_ok=True)

    @property
    def state(self) -> Path:
        return state_of(self.project, self.home)

    def run(self, *argv: str, ok: bool = True) -> Run:
        done = self._measured([sys.executable, "-I", "-S", str(PROGRAM), *argv], b"")
        if ok and done.code:
            raise AssertionError(
                f"`rewind {' '.join(argv)}` ended with {done.code}: {done.err.decode()[-500:]}"
            )
        assert b"Traceback" not in done.err and done.code != 70, done.err.decode()[-2000:]
        return done

    def hook(self, action: str, payload: bytes) -> Run:
        return self._measured([sys.executable, "-I", "-S", str(ENTRY), action], payload)

    def _measured(self, command: list[str], stdin: bytes) -> Run:
        read, write = os.pipe()
        with os.fdopen(read) as told:
            done = subprocess.run([sys.executable, "-I", "-S", "-c", _STARTER, str(write), *command],
                                  cwd=self.project, env=self.env, input=stdin, capture_output=True,
                                  pass_fds=[write], check=True)
            os.close(write)
            code, seconds, peak = told.read().split()
        return Run(int(code), float(seconds), int(peak) // 1024, done.stdout, done.stderr)


class Row(NamedTuple):
    """One line of the table: what was measured, and what it may be at most."""

    what: str
    measured: str
    bound: str
    good: bool


def at_most(what: str, value: float, bound: float, unit: str) -> Row:
    return Row(
        what,
        f"{value:,.1f} {unit}" if value < 100 else f"{value:,.0f} {unit}",
        f"{bound:g} {unit}",
        value <= bound,
    )


def seen(what: str, measured: str, good: bool = True, bound: str = "") -> Row:
    return Row(what, measured, bound, good)


def peak_row(what: str, run: Run, bound: Optional[int]) -> Row:
    if bound is None:
        return seen(what, f"{run.peak_mb} MB")
    return at_most(what, run.peak_mb, bound, "MB")
