"""Rewind as the benchmark runs it: the real command, a whole process from exec to exit."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from bench.spawn import Spawner


class Rewind:
    def __init__(self, spawner: Spawner, python: str, script: Path, project: Path) -> None:
        self._spawner = spawner
        self._project = project
        # -I -S is how the installed shims start it: no site, no user environment.
        self._rewind = [python, "-I", "-S", str(script)]
        self._restore_options: list[str] | None = None

    @property
    def state(self) -> Path:
        return self._project / ".agent" / "rewind"

    def init(self) -> None:
        self._run("init")

    def save(self) -> None:
        self._run("save", "bench")

    def save_named(self) -> str:
        """Saves and tells the checkpoint's name; not for timing, since it asks for JSON."""
        os.chdir(self._project)
        text = self._spawner.output([*self._rewind, "save", "bench", "--json"])
        return str(json.loads(text)["checkpoint"])

    def restore(self, name: str) -> None:
        self._run("restore", name, *self.restore_options())

    def restore_options(self) -> list[str]:
        """`--code-only` where the command knows it; found out before any timing."""
        if self._restore_options is None:
            text = self._spawner.output([*self._rewind, "restore", "--help"])
            self._restore_options = ["--code-only"] if b"--code-only" in text else []
        return self._restore_options

    def back(self, transcript: str) -> None:
        self._run("back", "1", "--session", transcript)

    def list(self) -> None:
        self._run("list")

    def count(self) -> int:
        os.chdir(self._project)
        text = self._spawner.output([*self._rewind, "list", "--all", "--json"])
        return len(json.loads(text)["checkpoints"])

    def remove(self) -> None:
        shutil.rmtree(self.state.parent, ignore_errors=True)

    def _run(self, *arguments: str) -> None:
        os.chdir(self._project)
        self._spawner.run([*self._rewind, *arguments])
