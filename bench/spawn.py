"""Starts processes with as little overhead as Python allows, the same way for every contender."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_SET_CHILD_SUBREAPER = 36


class CommandFailed(Exception):
    """A measured command did not exit with 0, so its time means nothing."""


@dataclass(frozen=True)
class Started:
    pid: int
    argv: Sequence[str]
    stderr: Path

    def wait(self) -> None:
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code != 0:
            text = self.stderr.read_text(errors="replace").strip()[-600:]
            raise CommandFailed(f"{' '.join(self.argv)} exited with {code}: {text}")


def adopt_orphans(wanted: bool = True) -> None:
    """Adopt processes whose parent has ended, so that their processor time is known. Linux only."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)


class Spawner:
    """Runs commands with one environment. Files in `scratch` hold their stderr."""

    def __init__(self, env: Mapping[str, str], scratch: Path) -> None:
        self.env = dict(env)
        self.scratch = scratch
        self._null = os.open(os.devnull, os.O_RDWR)

    def start(
        self, argv: Sequence[str], stdin: int = -1, stdout: int = -1, slot: str = "0"
    ) -> Started:
        stderr = self.scratch / f"stderr-{slot}"
        actions = [
            (os.POSIX_SPAWN_DUP2, self._null if stdin < 0 else stdin, 0),
            (os.POSIX_SPAWN_DUP2, self._null if stdout < 0 else stdout, 1),
            (os.POSIX_SPAWN_OPEN, 2, str(stderr), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
        ]
        pid = os.posix_spawn(argv[0], list(argv), self.env, file_actions=actions)
        return Started(pid, argv, stderr)

    def run(self, argv: Sequence[str], stdin: Path | None = None) -> None:
        if stdin is None:
            self.start(argv).wait()
            return
        descriptor = os.open(stdin, os.O_RDONLY)
        try:
            self.start(argv, stdin=descriptor).wait()
        finally:
            os.close(descriptor)

    def wait_for_adopted(self, pid: int) -> None:
        """Wait for the end of an adopted process."""
        with suppress(ChildProcessError):
            if pid > 0:
                os.waitpid(pid, 0)

    def output(self, argv: Sequence[str]) -> bytes:
        return self.outputs(argv)[0]

    def outputs(self, *argvs: Sequence[str]) -> list[bytes]:
        """Run the commands at the same time. Returns the stdout of each."""
        running = []
        for slot, argv in enumerate(argvs):
            reader, writer = os.pipe()
            running.append((self.start(argv, stdout=writer, slot=str(slot)), reader))
            os.close(writer)
        texts = [_drain(reader) for _, reader in running]
        for started, _ in running:
            started.wait()
        return texts

    def feed(self, argv: Sequence[str], text: bytes) -> None:
        reader, writer = os.pipe()
        started = self.start(argv, stdin=reader)
        os.close(reader)
        with os.fdopen(writer, "wb") as stream:
            stream.write(text)
        started.wait()


def _drain(reader: int) -> bytes:
    with os.fdopen(reader, "rb") as stream:
        return stream.read()
