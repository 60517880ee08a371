"""Runs a command in the directory of a future, and remembers its result for `rewind forks`."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from rewind.checkpoint.futures.known.lane import Lane
from rewind.checkpoint.project.locked import locked
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import iso_time

_MOST_OUTPUT = 64 << 10
_LOOK = 0.1  # seconds between two checks whether to stop
_PATIENCE = 2.0  # seconds that a command has to end after a signal


class Ran:
    """The result of a command in a future."""

    def __init__(self, code: int, seconds: float, output: str, *, stopped: bool = False) -> None:
        self.code = code
        self.seconds = seconds
        self.output = output
        self.stopped = stopped  # by the person, so the result says nothing about the code

    @property
    def last_line(self) -> str:
        lines = [line for line in self.output.splitlines() if line.strip()]
        return lines[-1].strip() if lines else ""


def run_in(state: State, lane: Lane, command: list[str], stop: Callable[[], bool] | None = None) -> Ran:
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        code, stopped = _run(lane.dir, command, output, stop)
        text = _tail(output).decode("utf-8", "replace")
    ran = Ran(code, time.monotonic() - began, text, stopped=stopped)
    if not stopped:
        _note(state, lane, command, code)
    return ran


def _run(folder: str, command: list[str], output: IO[bytes],
         stop: Callable[[], bool] | None) -> tuple[int, bool]:
    """In a process group of its own, so that stopping it also ends the processes that it started."""
    process = None
    try:
        with _ctrl_c_later():
            process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True)
        return _waited(process, stop)
    except OSError as error:
        output.write(os.fsencode(f"{command[0]}: {error.strerror}"))
        return 127, False
    except BaseException:
        if process:
            _end(process)
        raise


@contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """A Ctrl-C while a process starts would leave the process behind, so it only counts afterwards."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    old = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)
        if came:
            raise KeyboardInterrupt


def _waited(process: subprocess.Popen[bytes], stop: Callable[[], bool] | None) -> tuple[int, bool]:
    while True:
        try:
            return process.wait(_LOOK), False
        except subprocess.TimeoutExpired:
            if stop and stop():
                _end(process)
                return process.returncode, True


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(_PATIENCE)
            return
        except subprocess.TimeoutExpired:
            continue  # it ignores the signal
        except ProcessLookupError:
            process.wait()
            return


def _tail(output: IO[bytes]) -> bytes:
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - _MOST_OUTPUT))
    return output.read()


def _note(state: State, lane: Lane, command: list[str], code: int) -> None:
    with locked(state, "forks compare"):
        state.forks().change(lane.session_id, {"lastRun": {
            "command": _shown(command)[:200], "code": code, "at": iso_time()}})


def _shown(command: list[str]) -> str:
    """What the person typed, without the shell that runs it."""
    return command[2] if command[:2] == ["sh", "-c"] and len(command) == 3 else " ".join(command)
