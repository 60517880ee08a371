"""A Watchman for one test. Its socket, its state and its log are in a directory that the test removes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Optional

PROGRAM = shutil.which("watchman")


class WatchmanServer:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.socket = str(folder / "sock")
        self._process: Optional[subprocess.Popen[bytes]] = None

    def start(self, *, forget: bool = False) -> None:
        """With `forget`, it watches nothing, as after a reboot with a lost state."""
        assert PROGRAM and self._process is None
        for name in ("sock", *(("state",) if forget else ())):
            (self.folder / name).unlink(missing_ok=True)
        self._process = subprocess.Popen(
            [PROGRAM, "--foreground", f"--sockname={self.socket}", f"--statefile={self.folder / 'state'}",
             f"--logfile={self.folder / 'log'}", f"--pidfile={self.folder / 'pid'}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
        for _ in range(500):
            if os.path.exists(self.socket) and self._answers():
                return
            time.sleep(0.02)
        raise AssertionError((self.folder / "log").read_text())

    def _answers(self) -> bool:
        return self.command("version").returncode == 0

    def command(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        assert PROGRAM
        return subprocess.run([PROGRAM, f"--sockname={self.socket}", "--no-spawn", "--no-local", *words],
                              capture_output=True, timeout=60)

    def send(self, number: int) -> None:
        assert self._process
        self._process.send_signal(number)

    def stop(self, number: int = signal.SIGTERM) -> None:
        if self._process:
            self._process.send_signal(signal.SIGCONT)
            self._process.send_signal(number)
            self._process.wait(90)
            self._process = None
