"""An interactive program on its own screen. The screen is a private tmux server that ends with the test."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Callable, Optional

PATIENCE = 120.0


def wait_until(there: Callable[[], bool], what: Callable[[], str], patience: float = PATIENCE) -> None:
    """Wait until `there()` is true. After too long, fail with the text of `what()`."""
    end = time.monotonic() + patience
    while not there():
        assert time.monotonic() < end, what()
        time.sleep(0.05)


class Screen:
    def __init__(self, command: Sequence[str], env: Mapping[str, str], folder: Path) -> None:
        # The path of a socket can have about 100 characters, and pytest's directories are longer.
        self._folder = tempfile.mkdtemp(prefix="rewind-e2e-")
        variables = [f"{key}={value}" for key, value in env.items()]
        self._tmux("new-session", "-d", "-s", "screen", "-x", "150", "-y", "50", "-c", str(folder),
                   "env", "-i", *variables, *command)

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self._tmux("kill-server")
        shutil.rmtree(self._folder)

    def _tmux(self, *args: str) -> str:
        done = subprocess.run(["tmux", "-S", f"{self._folder}/tmux", "-f", "/dev/null", *args],
                              stdin=subprocess.DEVNULL, capture_output=True)
        return done.stdout.decode("utf-8", "replace")

    def text(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "screen")

    def running(self) -> bool:
        return "screen" in self._tmux("list-sessions")

    def write(self, text: str) -> None:
        self._tmux("send-keys", "-t", "screen", "-l", "--", text)

    def press(self, *keys: str) -> None:
        for key in keys:
            self._tmux("send-keys", "-t", "screen", key)

    def press_until(self, key: str, text: str, mark: str = "") -> None:
        """Press a key until the text is on a line that begins with the mark, to move in a list."""
        for _ in range(20):
            before = self.text()
            if any(text in line and line.lstrip().startswith(mark) for line in before.splitlines()):
                return
            self.press(key)
            self._wait_for_change(before)
        raise AssertionError(f"no {text!r} on the screen:\n{self.text()}")

    def _wait_for_change(self, before: str) -> None:
        """Wait until the last key has had an effect. Otherwise the next one could go a row too far."""
        end = time.monotonic() + 10
        while self.text() == before and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.3)

    def type(self, text: str, mark: str = "❯") -> None:
        """Type a line, and send it when the program shows it after its mark."""
        self.write(text)
        self.wait(f"{mark} {text}")
        # The client takes everything that arrives at once for pasted text, including an Enter.
        time.sleep(0.2)
        self.press("Enter")

    def wait(self, text: str) -> None:
        wait_until(lambda: text in self.text().replace("\xa0", " "),
                   lambda: f"no {text!r} on the screen:\n{self.text()}")
