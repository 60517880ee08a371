"""Runs a command in its own process at half the cost: a fork of `fork_server.py`.

In each worker, the first use of every command is started as a user does, and so is a command with variables
that Python itself reads. Tests about processes (killed, traced, timed, on a terminal) start their own.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Optional

import fork_server

_FOR_PYTHON = ("LC_", "LANG", "LD_", "PYTHON", "MALLOC_", "TZ")
# By process, because a forked process must not use the servers of its parent.
_servers: dict[tuple[int, str], tuple[subprocess.Popen[bytes], socket.socket]] = {}
_started_once: set[str] = set()


def run_forked(program: Path, args: Sequence[str], env: Mapping[str, str], changed: Mapping[str, str],
               cwd: Path, timeout: float) -> Optional[subprocess.CompletedProcess[bytes]]:
    """None if the command has to be started as a user does."""
    name = args[0] if args else ""
    if name not in _started_once or any(key.startswith(_FOR_PYTHON) for key in changed):
        _started_once.add(name)
        return None
    request = json.dumps({"args": args, "env": env, "cwd": os.fspath(cwd)}).encode()
    if len(request) > fork_server.MOST or not os.path.isdir(cwd):
        return None
    return _Forked(_server(str(program)), request, timeout).done(args)


def _server(program: str) -> socket.socket:
    """The server belongs to no test, so it has no home."""
    known = os.getpid(), program
    if known not in _servers:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-I", "-S", fork_server.__file__, program, str(theirs.fileno())]
        process = subprocess.Popen(command, env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"}, cwd="/",
                                   pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL)
        theirs.close()
        _servers[known] = process, ours
        atexit.register(_end, process, ours)
    return _servers[known][1]


def _end(process: subprocess.Popen[bytes], ours: socket.socket) -> None:
    ours.close()
    process.wait(20)


class _Forked:
    def __init__(self, server: socket.socket, request: bytes, timeout: float) -> None:
        self._until = time.monotonic() + timeout
        self._timeout = timeout
        self._found = {"out": bytearray(), "err": bytearray(), "status": bytearray()}
        self._selector = selectors.DefaultSelector()
        with open(os.devnull, "rb") as nothing:
            given = [nothing.fileno()]
            for name in self._found:
                reading, writing = os.pipe()
                given.append(writing)
                self._selector.register(reading, selectors.EVENT_READ, name)
            socket.send_fds(server, [request], given)
            for writing in given[1:]:
                os.close(writing)

    def done(self, args: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        """Wait for its end. The output includes that of processes which it left running."""
        try:
            while self._selector.get_map():
                left = self._until - time.monotonic()
                if left <= 0:
                    self._kill()
                    raise subprocess.TimeoutExpired(list(args), self._timeout)
                for key, _ in self._selector.select(left):
                    self._read(key)
        finally:
            for key in list(self._selector.get_map().values()):
                os.close(key.fd)
            self._selector.close()
        code = os.waitstatus_to_exitcode(int(self._found["status"].split()[1]))
        out, err = bytes(self._found["out"]), bytes(self._found["err"])
        return subprocess.CompletedProcess(list(args), code, out, err)

    def _read(self, key: selectors.SelectorKey) -> None:
        data = os.read(key.fd, 1 << 16)
        self._found[key.data] += data
        if not data:
            self._selector.unregister(key.fd)
            os.close(key.fd)

    def _kill(self) -> None:
        if self._found["status"]:
            os.kill(int(self._found["status"].split()[0]), signal.SIGKILL)
