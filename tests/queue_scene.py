"""Hooks as real processes that wait for each other in one work tree, and that tests stop or kill there."""

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

# A hook that notes each process that scans the tree. Files in a directory control it: how long a scan takes,
# and before or after which function a process is stopped or killed. An argument says how long a hook waits
# for its turn.
HOOK = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
from rewind.hooks import entry
from rewind.hooks.making import checkpoint, in_time, queue, service, work
from rewind.snapshot.scan import scan
work.WAIT, controls = float(sys.argv[2]), sys.argv[3]
service._QUICK, service._needed = 60.0, lambda took: 0.0  # a process that a test stops does not count as slow
real = scan.Walker
def scanning(*args):
    with open(controls + "/scans", "a") as file:
        file.write(f"{os.getpid()}\\n")
    while os.path.exists(controls + "/hold"):
        time.sleep(0.01)
    return real(*args)
scan.Walker = scanning

def stop_or_kill(where):
    for what, number in (("kill", signal.SIGKILL), ("stop", signal.SIGSTOP)):
        try:
            os.rename(f"{controls}/{what} {where}", controls + "/taken")
        except OSError:
            continue
        with open(controls + "/draft", "w") as file:
            file.write(str(os.getpid()))
        os.rename(controls + "/draft", controls + "/at")
        os.kill(os.getpid(), number)

def watched(owner, name):
    real = getattr(owner, name)
    def call(*args, **more):
        stop_or_kill("before " + name)
        found = real(*args, **more)
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
        self.controls = tmp_path / "controls"
        self.controls.mkdir()
        (rewind.project / "a.txt").write_text("before\n")
        (rewind.project / "gone.txt").write_text("gone\n")
        rewind.init()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Another process holds the lock of this work tree, as during a restore."""
        with Lock(str(self.rewind.state / "place.lock"), "restore", 0):
            yield

    def prompt(self, text: str, wait: float = 60.0, session: str = SESSION) -> subprocess.Popen[bytes]:
        transcript = self.rewind.home / ".claude" / "projects" / "-p" / f"{session}.jsonl"
        data = {"session_id": session, "transcript_path": str(transcript), "cwd": str(self.rewind.project),
                "prompt": text, "prompt_id": text}
        hook = subprocess.Popen([sys.executable, "-I", "-S", "-c", HOOK, str(CHECKOUT / "src"), str(wait),
                                 str(self.controls)], cwd=self.rewind.project, stdin=subprocess.PIPE,
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
        """The hook whose turn it is. It waits for the work tree, and all later hooks wait for it."""
        hook = self.prompt(text, **more)
        assert until(self.is_at_work), "no hook has its turn"
        return hook

    def is_at_work(self) -> bool:
        """Whether a process has its turn, even if it only works for others."""
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
        """The text of a file in a checkpoint. Empty if the file is not in it."""
        out = self.controls.with_name(one["name"])
        if not out.exists():
            self.rewind.ok("restore", one["name"], "--to", out)
        return (out / path).read_text() if (out / path).exists() else ""

    def count_scans(self) -> int:
        return len(self.scanners())

    def scanners(self) -> list[int]:
        """The processes that have scanned the tree."""
        scans = self.controls / "scans"
        return [int(line) for line in scans.read_text().splitlines()] if scans.exists() else []

    # control of the processes

    @contextmanager
    def scans_held(self) -> Iterator[None]:
        """Scans do not end before the end of the block."""
        (self.controls / "hold").touch()
        yield
        (self.controls / "hold").unlink()

    def wait_for_scans(self, count: int) -> None:
        assert until(lambda: len(self.scanners()) == count), self.scanners()

    def kill_at(self, name: str) -> None:
        """The first process that gets there kills itself."""
        (self.controls / f"kill {name}").touch()

    def stop_at(self, name: str) -> None:
        """The first process that gets there stops, until `wake`."""
        (self.controls / f"stop {name}").touch()

    def stopped(self) -> int:
        """Wait for the process that gets there. Returns its id."""
        assert until((self.controls / "at").exists)
        return int((self.controls / "at").read_text())

    def wake(self) -> None:
        os.kill(self.stopped(), signal.SIGCONT)

    def end(self) -> None:
        """Kill a process that a failed test has left stopped."""
        (self.controls / "hold").unlink(missing_ok=True)
        if (self.controls / "at").exists():
            try:
                os.kill(self.stopped(), signal.SIGKILL)
            except ProcessLookupError:
                pass


def until(condition: Callable[[], object]) -> bool:
    for _ in range(6000):
        if condition():
            return True
        time.sleep(0.01)
    return False


def ended(*hooks: subprocess.Popen[bytes]) -> bool:
    results = [(*hook.communicate(timeout=120), hook.returncode) for hook in hooks]
    assert results == [(b"", b"", 0)] * len(hooks), results
    return True
