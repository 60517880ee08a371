"""Hooks as real processes that wait for each other in one place, and that are stopped and killed there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable

from hook_scene import SESSION
from rewind.errors import Locked
from rewind.lock import Lock
from rewind_cli import CHECKOUT, Rewind, clean_env

# A hook that notes who looks at the tree, looks as long as it is told to, and may be told how long it waits
# for its turn. By the name of a function that it calls it is stopped or killed there.
HOOK = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
from rewind.hooks import entry
from rewind.hooks.making import checkpoint, in_time, queue, service, work
from rewind.snapshot.scan import scan
work.WAIT, told = float(sys.argv[2]), sys.argv[3]
service._QUICK, service._needed = 60.0, lambda took: 0.0  # who is stopped for a test is not slow
right = scan.Walker
def looking(*args):
    with open(told + "/looks", "a") as file:
        file.write(f"{os.getpid()}\\n")
    while os.path.exists(told + "/hold"):
        time.sleep(0.01)
    return right(*args)
scan.Walker = looking

def stop_or_kill(where):
    for what, number in (("kill", signal.SIGKILL), ("stop", signal.SIGSTOP)):
        try:
            os.rename(f"{told}/{what} {where}", told + "/taken")
        except OSError:
            continue
        with open(told + "/draft", "w") as file:
            file.write(str(os.getpid()))
        os.rename(told + "/draft", told + "/at")
        os.kill(os.getpid(), number)

def watched(owner, name):
    right = getattr(owner, name)
    def call(*args, **more):
        stop_or_kill("before " + name)
        found = right(*args, **more)
        stop_or_kill("after " + name)
        return found
    setattr(owner, name, call)

for owner, name in ((queue.Request, "mark_done"), (checkpoint._SharedScan, "_note_seen"),
                    (queue.Queue, "_write_request"), (checkpoint.CheckpointSaver, "save_for"),
                    (service.Service, "run"), (work.CheckpointJob, "note_late"), (in_time, "_report")):
    watched(owner, name)
os._exit(entry.run(["user-prompt-submit"]))
"""


class Scene:
    def __init__(self, rewind: Rewind, tmp_path: Path) -> None:
        self.rewind = rewind
        self.told = tmp_path / "told"
        self.told.mkdir()
        (rewind.project / "a.txt").write_text("before\n")
        (rewind.project / "gone.txt").write_text("gone\n")
        rewind.init()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Another process works in this place, as during a restore."""
        with Lock(str(self.rewind.state / "place.lock"), "restore", 0):
            yield

    def prompt(self, text: str, wait: float = 60.0, session: str = SESSION) -> subprocess.Popen[bytes]:
        transcript = self.rewind.home / ".claude" / "projects" / "-p" / f"{session}.jsonl"
        data = {"session_id": session, "transcript_path": str(transcript), "cwd": str(self.rewind.project),
                "prompt": text, "prompt_id": text}
        hook = subprocess.Popen([sys.executable, "-I", "-S", "-c", HOOK, str(CHECKOUT / "src"), str(wait),
                                 str(self.told)], cwd=self.rewind.project, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={**clean_env(self.rewind.home), "CLAUDECODE": "1"})
        assert hook.stdin
        hook.stdin.write(json.dumps(data).encode())
        hook.stdin.close()
        hook.stdin = None
        return hook

    def requests(self) -> list[str]:
        folder = self.rewind.state / "queue"
        return sorted(p.name for p in folder.glob("*.json")) if folder.exists() else []

    def wait_for_requests(self, count: int) -> None:
        for _ in range(2000):
            if len(self.requests()) == count:
                return
            time.sleep(0.02)
        raise AssertionError(self.requests())

    def leader(self, text: str, **more: Any) -> subprocess.Popen[bytes]:
        """The hook whose turn it is: it waits for the place, and all that come now wait for it."""
        hook = self.prompt(text, **more)
        assert until(self.is_at_work), "nobody has its turn"
        return hook

    def is_at_work(self) -> bool:
        """Whether somebody has its turn, also if only for others."""
        lock = self.rewind.state / "queue.lock"
        if not lock.exists():
            return False
        try:
            with Lock(str(lock), "look", 0):
                return False
        except Locked:
            return True

    def made(self) -> dict[str, dict[str, Any]]:
        """By prompt, oldest first, without the first checkpoint."""
        found = reversed(self.rewind.json("list")["checkpoints"])
        return {one["trigger"]["promptId"]: one for one in found if one["trigger"].get("promptId")}

    def holds(self, path: str, one: dict[str, Any]) -> str:
        """What a checkpoint has of a file; nothing, where it has not."""
        out = self.told.with_name(one["name"])
        if not out.exists():
            self.rewind.ok("restore", one["name"], "--to", out)
        return (out / path).read_text() if (out / path).exists() else ""

    def count_looks(self) -> int:
        return len(self.lookers())

    def lookers(self) -> list[int]:
        """The processes that have looked at the tree."""
        looks = self.told / "looks"
        return [int(line) for line in looks.read_text().splitlines()] if looks.exists() else []

    # what a process does at a certain place

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Until the end of this, whoever looks at the tree goes on looking."""
        (self.told / "hold").touch()
        yield
        (self.told / "hold").unlink()

    def wait_for_looks(self, count: int) -> None:
        assert until(lambda: len(self.lookers()) == count), self.lookers()

    def kill_at(self, name: str) -> None:
        """The first process that gets there kills itself."""
        (self.told / f"kill {name}").touch()

    def stop_at(self, name: str) -> None:
        """The first process that gets there stops, until `wake`."""
        (self.told / f"stop {name}").touch()

    def there(self) -> int:
        """The process that got there."""
        assert until((self.told / "at").exists)
        return int((self.told / "at").read_text())

    def wake(self) -> None:
        os.kill(self.there(), signal.SIGCONT)

    def end(self) -> None:
        """Nobody stays who was stopped by a test that failed."""
        (self.told / "hold").unlink(missing_ok=True)
        if (self.told / "at").exists():
            try:
                os.kill(self.there(), signal.SIGKILL)
            except ProcessLookupError:
                pass


def until(true: Callable[[], object]) -> bool:
    for _ in range(6000):
        if true():
            return True
        time.sleep(0.01)
    return False


def ended(*hooks: subprocess.Popen[bytes]) -> bool:
    results = [(*hook.communicate(timeout=120), hook.returncode) for hook in hooks]
    assert results == [(b"", b"", 0)] * len(hooks), results
    return True
