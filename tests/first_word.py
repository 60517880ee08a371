"""Starts Python processes and waits until they print something."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Callable

SOURCE = str(Path(__file__).resolve().parents[1] / "src")
PRELUDE = f"import os, sys, time; sys.path.insert(0, {SOURCE!r}); from rewind import files, lock, processes\n"


@contextmanager
def python(code: str, *args: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has printed its first line. At the end of the block it is killed, with its children."""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", code, *args], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdin and process.stdout
    try:
        assert process.stdout.readline(), "it died before it said anything"
        yield process
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        process.stdin.close()
        process.stdout.close()


def until(condition: Callable[[], object], seconds: float = 90) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def dead_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid
