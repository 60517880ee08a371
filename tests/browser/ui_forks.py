"""`rewind ui` in processes of their own, forked from one that has imported everything: a test in the browser
needs one, and imports take longer than all that it is asked for.

The command as a person starts it is tested in `tests/e2e/test_web.py` and `tests/cli/demo/test_demo.py`.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import IO, NoReturn, Optional

_SOURCE = Path(__file__).resolve().parents[2] / "src"
_ROOMS = ("web", "checkpoint", "transcript", "snapshot", "store", "agents", "config")
# What they import when they need it.
_LATE = ("uvicorn.lifespan.off", "uvicorn.loops.auto", "uvicorn.protocols.http.auto", "markdown_it",
         "uvicorn.protocols.websockets.auto", "pygments.lexers.python", "difflib", "sqlite3", "asyncio")


class Forks:
    """The process that has imported everything. It ends with the one that has started it."""

    def __init__(self) -> None:
        self._door, there = socket.socketpair()
        with there:
            self._process = subprocess.Popen(
                [sys.executable, "-I", __file__, str(there.fileno())], pass_fds=[there.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]})

    def start(self, folder: Path, env: dict[str, str]) -> tuple[int, IO[bytes]]:
        """The process, and what it says until it ends."""
        reading, writing = os.pipe()
        socket.send_fds(self._door, [b"!"], [writing])
        os.close(writing)
        self._door.sendall(json.dumps({"folder": str(folder), "env": env}).encode() + b"\n")
        return int(self._door.recv(100)), open(reading, "rb")


_forks: Optional[Forks] = None


def start_ui(folder: Path, env: dict[str, str]) -> tuple[int, IO[bytes]]:
    global _forks
    _forks = _forks or Forks()
    return _forks.start(folder, env)


# the process that has imported everything

def _serve(door: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how one of them has ended
    while True:
        mark, out, _, _ = socket.recv_fds(door, 1, 1)
        if not mark:
            return
        asked = b""
        while not asked.endswith(b"\n"):
            asked += door.recv(1 << 16)
        pid = os.fork()
        if not pid:
            door.close()
            _become(out[0], **json.loads(asked))
        os.close(out[0])
        door.sendall(b"%d\n" % pid)


def _become(out: int, folder: str, env: dict[str, str]) -> NoReturn:
    from rewind.cli.main import run

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(out, 1)
    os.close(out)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = [str(_SOURCE.parent / "bin" / "rewind"), "ui", "--no-open"]
    run()
    sys.exit(0)


def _import_all() -> None:
    sys.path.insert(0, str(_SOURCE))
    top = _SOURCE / "rewind"
    ours = [".".join(path.relative_to(_SOURCE).with_suffix("").parts)
            for room in _ROOMS for path in sorted((top / room).rglob("*.py")) if path.stem != "__init__"]
    for name in ("rewind.cli.main", "rewind.cli.look.ui", *ours, *_LATE):
        importlib.import_module(name)


if __name__ == "__main__":
    gc.disable()  # as bin/rewind does
    _import_all()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as door:
        _serve(door)
