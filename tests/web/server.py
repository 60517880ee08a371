"""`rewind ui` as a real process."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Optional

import httpx

from rewind_cli import CHECKOUT


class Server:
    def __init__(self, project: Path, env: Mapping[str, str], *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rewind", "ui", "--no-open", *options], cwd=project,
            env={**env, "PYTHONPATH": str(CHECKOUT / "src")}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline().decode()
        found = re.fullmatch(r"Rewind is at (http://127\.0\.0\.1:(\d+))/\?token=([\w-]+)\n", self.first_line)
        assert found, (self.first_line, self.process.poll())
        self.origin, self.port, self.token = found[1], int(found[2]), found[3]

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    @property
    def cookie(self) -> str:
        return f"rewind_token_{self.port}={self.token}"

    @property
    def socket_address(self) -> str:
        return self.origin.replace("http", "ws") + "/ws"

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.origin, headers={"Cookie": self.cookie}, timeout=90,
                            trust_env=False)

    def interrupt(self) -> tuple[int, str]:
        """Press Ctrl-C. Returns the exit code and the output."""
        self.process.send_signal(signal.SIGINT)
        _, err = self.process.communicate(timeout=90)
        return self.process.returncode, err.decode()

    def resident(self) -> int:
        """The peak memory in kilobytes."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+)", text)
        assert found
        return int(found[1])

    def listening_addresses(self) -> set[str]:
        """The addresses on which the process listens, including IPv6, as the kernel writes them."""
        folder = f"/proc/{self.process.pid}/fd"
        own = set()
        for fd in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # closed since
                own.add(os.readlink(f"{folder}/{fd}"))
        found = set()
        for table in ("tcp", "tcp6", "udp", "udp6"):
            for line in Path(f"/proc/{self.process.pid}/net/{table}").read_text().splitlines()[1:]:
                local, state, inode = (line.split()[at] for at in (1, 3, 9))
                if f"socket:[{inode}]" in own and (state == "0A" or table.startswith("udp")):
                    found.add(local)
        return found
