"""Runs `rewind` in a pseudo-terminal, and reads and answers like a person."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Optional

from rewind_cli import PROGRAM, Rewind


def _own_terminal() -> None:
    """Make the pseudo-terminal the controlling one, so that Ctrl-C works as from a keyboard."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Terminal:
    """A `rewind` in a pseudo-terminal, by default one that can only show text."""

    def __init__(self, cli: Rewind, *args: str, term: Optional[str] = "dumb",
                 python: tuple[str, ...] = (), **more: str) -> None:
        ours, theirs = pty.openpty()
        env = {**cli.env, "COLUMNS": "80", **more}
        env.pop("TERM", None)
        env.update({"TERM": term} if term else {})
        self.fd = ours
        self.text = ""
        self.process = subprocess.Popen([sys.executable, *python, "-I", "-S", str(PROGRAM), *args],
                                        cwd=cli.project, env=env, stdin=theirs, stdout=theirs, stderr=theirs,
                                        start_new_session=True, preexec_fn=_own_terminal)
        os.close(theirs)

    def until(self, wanted: str, patience: float = 60) -> str:
        """Read until these words appear. Returns the text up to and including them."""
        end = time.monotonic() + patience
        while wanted not in self.text:
            assert time.monotonic() < end and self._read(end), f"{wanted!r} never came: {self.text}"
        found, _, self.text = self.text.partition(wanted)
        return found + wanted

    def _read(self, end: float) -> bool:
        if not select.select([self.fd], [], [], max(0.0, end - time.monotonic()))[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # the other end is closed
            return False
        self.text += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)

    def say(self, text: str) -> None:
        os.write(self.fd, text.encode() + b"\n")

    def interrupt(self) -> None:
        """Press Ctrl-C when the program waits for an answer. If it came between the question and the wait,
        Python's `input` would not notice it before there is an answer."""
        stat = Path(f"/proc/{self.process.pid}/stat")
        asleep = 0
        while asleep < 5:
            time.sleep(0.02)
            waits = not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "S"
            asleep = asleep + 1 if waits else 0
        os.write(self.fd, b"\x03")

    def end(self) -> tuple[int, str]:
        until = time.monotonic() + 60
        while self._read(until):
            pass
        code = self.process.wait(timeout=60)
        assert "Traceback" not in self.text
        return code, self.text

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.fd)
