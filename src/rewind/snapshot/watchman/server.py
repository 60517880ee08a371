"""Asks the Watchman of this user, one query after the other.

A socket of another user, garbage, or no answer in time all count as: there is no Watchman.
"""

from __future__ import annotations

import os
import sys
import time

from rewind.snapshot.watchman import bser

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket as sockets
    from typing import Any
else:
    try:
        import _socket as sockets  # without the rest of `socket`, which also loads `selectors` and `enum`
    except ImportError:
        import socket as sockets

_MOST_BYTES = 32 << 20
_MACOS_PEER = (0, 1)  # SOL_LOCAL, LOCAL_PEERCRED


class NoAnswer(Exception):
    """Watchman is not there, or does not answer as it should. The text says why."""


class Refused(NoAnswer):
    """Watchman answers with an error."""


class Server:
    def __init__(self, path: str, seconds: float) -> None:
        self._seconds = seconds  # for each answer
        self._until = time.monotonic() + seconds
        self._socket = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
        try:
            self._wait()
            self._socket.connect(path)
            if self._peer() != os.geteuid():
                raise NoAnswer("the socket belongs to another user")
        except OSError as error:
            self.close()
            raise NoAnswer(error.strerror or "it did not answer in time")
        except NoAnswer:
            self.close()
            raise

    def close(self) -> None:
        self._socket.close()

    def _peer(self) -> int:
        """The user at the other end, according to the kernel."""
        if hasattr(sockets, "SO_PEERCRED"):
            raw = self._socket.getsockopt(sockets.SOL_SOCKET, sockets.SO_PEERCRED, 12)
        elif sys.platform == "darwin":
            raw = self._socket.getsockopt(*_MACOS_PEER, 76)
        else:
            return os.geteuid()  # the owner of the socket was checked before
        return int.from_bytes(raw[4:8], sys.byteorder)

    def ask(self, *command: Any) -> dict[bytes, Any]:
        """The answer. An error in it is raised."""
        self._until = time.monotonic() + self._seconds
        try:
            self._wait()
            self._socket.sendall(bser.dumps(command))
            answer = bser.loads(self._receive())
        except OSError:
            raise NoAnswer("it did not answer in time")
        except (bser.NotBser, RecursionError, MemoryError):
            raise NoAnswer("its answer makes no sense")
        if not isinstance(answer, dict):
            raise NoAnswer("its answer makes no sense")
        if b"error" in answer:
            raise Refused(_shown(answer[b"error"]))
        return answer

    def _receive(self) -> bytes:
        data = bytearray()
        size = 0
        while not size or len(data) < size:
            self._wait()
            part = self._socket.recv(1 << 20)
            if not part:
                raise NoAnswer("it closed the connection")
            data += part
            size = size or bser.message_size(bytes(data[:16]))
            if size > _MOST_BYTES:
                raise NoAnswer("its answer is too long")
        return bytes(data[:size])

    def _wait(self) -> None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise NoAnswer("it did not answer in time")
        self._socket.settimeout(left)


def _shown(error: object) -> str:
    return error[:200].decode("utf-8", "replace") if isinstance(error, bytes) else "it reports an error"
