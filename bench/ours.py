"""Rewind as a user has it: installed by `install.sh` and started by its command and its hook."""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable

from bench.spawn import Spawner
from bench.talk import Talk

PATIENCE = 900.0  # a million files take long
MARKERS = (".git/rewind-store", ".agent/rewind-store")


def install(spawner: Spawner, checkout: Path, python: str, home: Path) -> None:
    """Install it for Claude Code with all defaults. install.sh takes the first `python3` that it finds, so
    `python` is put first on PATH under that name."""
    folder = home / "python"
    folder.mkdir()
    (folder / "python3").symlink_to(python)
    env = {**spawner.env, "PATH": os.pathsep.join([str(folder), spawner.env["PATH"]])}
    script = str(checkout / "install.sh")
    Spawner(env, spawner.scratch).run(["/bin/sh", script, "--yes", "--no-ui", "--agents", "claude"])


class Rewind:
    """The installed Rewind at work on one project."""

    def __init__(self, spawner: Spawner, home: Path, project: Path) -> None:
        self.spawner = spawner
        self.home = home
        self.project = project
        self.talk = Talk(home, project)
        self._command = str(home / ".local" / "bin" / "rewind")
        self._hook = str(home / ".rewind" / "system" / "smart-checkpoint")
        self._state: Path | None = None
        self._prompts = 0

    # as a person runs it

    def run(self, *arguments: str) -> None:
        os.chdir(self.project)
        self.spawner.run(self.command(*arguments))

    def output(self, *arguments: str) -> bytes:
        os.chdir(self.project)
        return self.spawner.output(self.command(*arguments))

    def command(self, *arguments: str) -> list[str]:
        return [self._command, *arguments]

    def init(self) -> None:
        self.run("init")

    def save(self) -> None:
        self.run("save", "bench")

    def restore(self, name: str) -> None:
        self.run("restore", name, "--code-only")

    def back(self, transcript: Path, *options: str) -> None:
        self.run("back", "1", "--session", str(transcript), *options)

    # as an agent runs it

    def hook(self, event: str, **more: object) -> None:
        os.chdir(self.project)
        self.spawner.run(self.hook_command(event), stdin=self.payload(**more))

    def hook_command(self, event: str) -> list[str]:
        return [self._hook, event]

    def payload(self, **more: object) -> Path:
        """The input of the hook. It is a file, because a pipe would have to be fed at the same time."""
        path = self.spawner.scratch / "payload.json"
        path.write_text(json.dumps({**self.talk.event(), **more}))
        return path

    def prompt(self) -> Callable[[], None]:
        """Run the hook that makes a checkpoint. The returned function waits until the checkpoint is written
        and its process has ended. An agent does not wait for that."""
        self.hook("user-prompt-submit", **self.next_prompt())
        return self.wait_until_written

    def wait_until_written(self) -> None:
        deadline = time.monotonic() + PATIENCE
        notes = self._hook_notes()
        while notes.get("begun") and time.monotonic() < deadline:
            time.sleep(0.0005)
            notes = self._hook_notes()
        self.spawner.wait_for_adopted(int(notes.get("left", 0)))

    def _hook_notes(self) -> dict[str, Any]:
        notes = json.loads((self.state / "hook-state.json").read_text())
        assert isinstance(notes, dict)
        return notes

    def next_prompt(self) -> dict[str, object]:
        self._prompts += 1  # the hook ignores an event that it has already seen
        return {"prompt": f"Prompt {self._prompts} of the benchmark", "prompt_id": f"bench-{self._prompts}"}

    # the result

    def save_named(self) -> str:
        return str(json.loads(self.output("save", "bench", "--json"))["checkpoint"])

    def count(self) -> int:
        return len(json.loads(self.output("list", "--all", "--json"))["checkpoints"])

    @property
    def state(self) -> Path:
        if self._state is None:
            self._state = Path(json.loads(self.output("status", "--json"))["state"])
        return self._state

    def wait_until_idle(self, quiet: float) -> None:
        """Wait until the state has not changed for `quiet` seconds. A process in the background compresses a
        first checkpoint, and it would slow down the next measurement."""
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
                with suppress(OSError):  # a file may be removed after it was listed
                    found.add((path, os.stat(path).st_size, os.stat(path).st_mtime_ns))
        return found

    def forget(self) -> None:
        """Remove the store, its entry and the marker, as if Rewind had never seen the project."""
        state, self._state = self.state, None
        shutil.rmtree(state, ignore_errors=True)
        index = self.home / ".rewind" / "known-stores.json"
        known = json.loads(index.read_text())
        known["stores"].pop(state.name, None)
        index.write_text(json.dumps(known))
        for marker in MARKERS:
            (self.project / marker).unlink(missing_ok=True)
