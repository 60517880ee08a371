"""Rewind as the benchmark runs it: the real command, a whole process from exec to exit."""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from bench.spawn import Spawner

PATIENCE = 90.0


class Rewind:
    def __init__(self, spawner: Spawner, python: str, script: Path, project: Path) -> None:
        self.spawner = spawner
        self.project = project
        # -I -S is how the installed shims start it: no site, no user environment.
        self._rewind = [python, "-I", "-S", str(script)]
        self._restore_options: list[str] | None = None

    @property
    def state(self) -> Path:
        return self.project / ".agent" / "rewind"

    def init(self) -> None:
        # In the project, where its size is measured and where it can be removed for the next round.
        self._run("init", "--mode", "project")

    def save(self) -> None:
        self._run("save", "bench")

    def save_named(self) -> str:
        """Saves and tells the checkpoint's name; not for timing, since it asks for JSON."""
        return str(json.loads(self.output("save", "bench", "--json"))["checkpoint"])

    def restore(self, name: str) -> None:
        self._run("restore", name, *self.restore_options())

    def restore_options(self) -> list[str]:
        """`--code-only` where the command knows it; found out before any timing."""
        if self._restore_options is None:
            text = self.output("restore", "--help")
            self._restore_options = ["--code-only"] if b"--code-only" in text else []
        return self._restore_options

    def back(self, transcript: str) -> None:
        self._run("back", "1", "--session", transcript)

    def list(self) -> None:
        self._run("list")

    def blame(self, path: str) -> None:
        self._run("blame", path)

    def sessions(self) -> None:
        self._run("sessions", "list")

    def forks(self) -> None:
        self._run("forks", "list")

    def command(self, *arguments: str) -> list[str]:
        return [*self._rewind, *arguments]

    def output(self, *arguments: str) -> bytes:
        os.chdir(self.project)
        return self.spawner.output(self.command(*arguments))

    def count(self) -> int:
        return len(json.loads(self.output("list", "--all", "--json"))["checkpoints"])

    def rest(self, quiet: float) -> None:
        """Waits for the process that compresses a first checkpoint afterwards: it would be measured along."""
        before, since = self._written(), time.monotonic()
        deadline = since + PATIENCE
        while time.monotonic() < min(since + quiet, deadline):
            time.sleep(min(quiet, 0.2))
            if self._written() != before:
                before, since = self._written(), time.monotonic()

    def _written(self) -> set[tuple[str, int, int]]:
        found = set()
        for folder, _, names in os.walk(self.state):
            for path in (os.path.join(folder, name) for name in names):
                with suppress(OSError):  # a file may go between being listed and being looked at
                    found.add((path, os.stat(path).st_size, os.stat(path).st_mtime_ns))
        return found

    def remove(self) -> None:
        shutil.rmtree(self.state.parent, ignore_errors=True)

    def _run(self, *arguments: str) -> None:
        os.chdir(self.project)
        self.spawner.run([*self._rewind, *arguments])
