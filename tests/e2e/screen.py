"""An interactive program on a screen of its own: a private tmux server, ended with the test."""

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
    """Returns as soon as it is there; a test that waits in vain shows what there was instead."""
    end = time.monotonic() + patience
    while not there():
        assert time.monotonic() < end, what()
        time.sleep(0.05)


class Screen:
    def __init__(self, command: Sequence[str], env: Mapping[str, str], folder: Path) -> None:
        # A socket's path has room for about 100 characters; pytest's directories are longer than that.
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
        """Move in a list, a row at a time, until the text stands there, on a line that begins with a mark."""
        for _ in range(20):
            before = self.text()
            if any(text in line and line.lstrip().startswith(mark) for line in before.splitlines()):
                return
            self.press(key)
            self._wait_for_change(before)
        raise AssertionError(f"no {text!r} on the screen:\n{self.text()}")

    def _wait_for_change(self, before: str) -> None:
        """A key that is pressed before the last one was seen to do something goes a row too far."""
        end = time.monotonic() + 10
        while self.text() == before and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.3)

    def type(self, text: str, mark: str = "❯") -> None:
        """Type a line and send it, once the program shows it after its mark."""
        self.write(text)
        self.wait(f"{mark} {text}")
        # The client reads what arrives in one go as pasted text, an Enter included.
        time.sleep(0.2)
        self.press("Enter")

    def wait(self, text: str) -> None:
        wait_until(lambda: text in self.text().replace("\xa0", " "),
                   lambda: f"no {text!r} on the screen:\n{self.text()}")
