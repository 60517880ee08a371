"""Starts a Watchman for the benchmark, if Watchman is installed and Rewind can use it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from bench.ours import Rewind
from bench.skipped import Skipped
from bench.spawn import CommandFailed
from bench.workplace import Workplace, say

PATIENCE = 60.0
_SETTING = "scan.monitor"
_WALKS = 3  # the first checkpoints walk the whole tree; Rewind asks Watchman only after them


def find_watchman(place: Workplace) -> str:
    """Raises `Skipped` before a tree is made, which takes long."""
    program = shutil.which("watchman")
    if program is None:
        raise Skipped("Watchman is not installed (package watchman)")
    try:
        place.rewind(place.home).output("config", _SETTING)
    except CommandFailed:
        raise Skipped(f"this Rewind has no setting {_SETTING}") from None
    return program


def watch(place: Workplace, program: str, rewind: Rewind) -> None:
    """From here on, checkpoints of this project ask Watchman what changed."""
    _start(place, program)
    place.spawner.output([program, "watch", str(rewind.project)])
    rewind.run("config", "--set", f"{_SETTING}=watchman")
    for _ in range(_WALKS):
        rewind.run("save")


def unwatch(rewind: Rewind) -> None:
    rewind.run("config", "--set", f"{_SETTING}=off")


def _start(place: Workplace, program: str) -> None:
    """Start a server that is separate from the user's own and ends with the run."""
    folder = place.root / "watchman"
    if folder.exists():
        return
    folder.mkdir(mode=0o700)
    socket = folder / "sock"
    place.spawner.env["WATCHMAN_SOCK"] = str(socket)
    say("starting a Watchman")
    names = [f"--{what}={folder / what}" for what in ("logfile", "pidfile", "statefile")]
    server = subprocess.Popen([program, "--foreground", f"--sockname={socket}", *names],
                              env=place.spawner.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    place.at_end.callback(_end, server)
    _wait_for(socket)


def _wait_for(socket: Path) -> None:
    until = time.monotonic() + PATIENCE
    while not socket.exists():
        if time.monotonic() > until:
            raise Skipped("Watchman does not start")
        time.sleep(0.05)


def _end(server: subprocess.Popen[bytes]) -> None:
    os.kill(server.pid, signal.SIGTERM)
    server.wait(PATIENCE)
