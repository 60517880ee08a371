"""Rewind as a user has it: installed by install.sh and called by its name."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any, ClassVar, Optional

from stage import Stage

from compiled_once import preinstall_library
from rewind_cli import CHECKOUT, clean_env


class Installed:
    library: ClassVar[Optional[Path]] = None  # to copy to the home before the installation

    def __init__(self, stage: Stage, agent: str) -> None:
        self.stage = stage
        if self.library:
            preinstall_library(self.library, stage.home)
        self.env = clean_env(stage.home)
        self._program = str(stage.home / ".local" / "bin" / "rewind")
        self._run(["sh", str(CHECKOUT / "install.sh"), "--yes", "--tier", "aggressive", "--agents", agent])

    def _run(self, command: list[str]) -> str:
        done = subprocess.run(command, cwd=self.stage.project, env=self.env, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        assert done.returncode == 0, done
        assert "Traceback" not in done.stdout + done.stderr
        return done.stdout

    def __call__(self, *args: str) -> str:
        return self._run([self._program, *args])

    def wait_until_protected(self, folder: Path) -> None:
        """Wait for the first hook, because a client may show its screen earlier."""
        for _ in range(600):
            found = subprocess.run([self._program, "status", "-C", str(folder)], cwd=folder, env=self.env,
                                   stdin=subprocess.DEVNULL, capture_output=True)
            if found.returncode == 0:
                return
            time.sleep(0.1)
        raise AssertionError(f"{folder} is not protected after a minute: {found}")

    def json(self, *args: str) -> dict[str, Any]:
        return dict(json.loads(self(*args, "--json")))

    def made_for(self) -> list[str]:
        """The events for which checkpoints were made, oldest first. This waits for late checkpoints."""
        for _ in range(600):
            found = self.json("list")
            if not found["late"]:
                return [str(c["trigger"].get("event")) for c in reversed(found["checkpoints"])]
            time.sleep(0.1)
        raise AssertionError("a checkpoint is still late after a minute")


def state(project: Path) -> dict[str, str]:
    return {p.name: p.read_text() for p in project.iterdir() if p.is_file()}
