"""The Watchman that runs for this user: where its socket is, and one question after the other.

What is odd (another user's, garbage, no answer in time) is no Watchman.
"""

from __future__ import annotations

import os
import stat
import sys
import time

from rewind.snapshot.watchman import bser

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket as sockets
    from collections.abc import Iterator, Mapping
    from typing import Any
else:
    try:
        import _socket as sockets  # what `socket` adds, `selectors` and `enum` with it, nobody here uses
    except ImportError:
        import socket as sockets

# Where those who build Watchman let it keep its state. Without such a place it is the temporary directory.
_STATE_DIRS = ("/usr/local/var/run/watchman", "/opt/homebrew/var/run/watchman", "/var/run/watchman",
               "/home/linuxbrew/.linuxbrew/var/run/watchman", "/run/watchman")
_MOST_BYTES = 32 << 20
_START_SECONDS = 10.0
_MACOS_PEER = (0, 1)  # SOL_LOCAL, LOCAL_PEERCRED


class NoAnswer(Exception):
    """Watchman is not there, or does not answer as it should; the text says which."""


class Refused(NoAnswer):
    """It is there, and says that it will not."""


def find_socket(environ: Mapping[str, str]) -> str:
    """The socket of this user's Watchman without starting a process; "" where there is none."""
    return next((path for path in _candidates(environ) if _is_ours(path)), "")


def _candidates(environ: Mapping[str, str]) -> Iterator[str]:
    if environ.get("WATCHMAN_SOCK"):
        yield environ["WATCHMAN_SOCK"]
        return
    user = environ.get("USER") or environ.get("LOGNAME") or _user_name()
    if not user or "/" in user:
        return
    home = environ.get("HOME", "")
    state_home = environ.get("XDG_STATE_HOME") or (home and os.path.join(home, ".local", "state"))
    temporary = environ.get("TMPDIR") or environ.get("TMP") or "/tmp"
    for folder in (temporary, "/tmp", state_home and os.path.join(state_home, "watchman"), *_STATE_DIRS):
        if folder:
            yield os.path.join(folder, user + "-state", "sock")


def _user_name() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""


def _is_ours(path: str) -> bool:
    try:
        info = os.lstat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISSOCK(info.st_mode) and info.st_uid == os.geteuid()


def start_server() -> str:
    """The socket of a Watchman that is started for it; "" where there is no such program."""
    import subprocess

    try:
        done = subprocess.run(["watchman", "--no-pretty", "get-sockname"], stdin=subprocess.DEVNULL, cwd="/",
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=_START_SECONDS)
        from rewind import quickjson

        said = quickjson.loads(done.stdout)
        path = said.get("sockname", "") if isinstance(said, dict) else ""
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return path if isinstance(path, str) and _is_ours(path) else ""


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
        """The user at the other end, as the kernel knows it."""
        if hasattr(sockets, "SO_PEERCRED"):
            raw = self._socket.getsockopt(sockets.SOL_SOCKET, sockets.SO_PEERCRED, 12)
        elif sys.platform == "darwin":
            raw = self._socket.getsockopt(*_MACOS_PEER, 76)
        else:
            return os.geteuid()  # the owner of the socket was looked at
        return int.from_bytes(raw[4:8], sys.byteorder)

    def ask(self, *command: Any) -> dict[bytes, Any]:
        """The answer. An error that Watchman reports is one of ours."""
        self._until = time.monotonic() + self._seconds
        try:
            self._wait()
            self._socket.sendall(bser.dumps(command))
            answer = bser.loads(self._receive())
        except OSError:
            raise NoAnswer("it did not answer in time")
        except (bser.NotBser, RecursionError, MemoryError):
            raise NoAnswer("what it said makes no sense")
        if not isinstance(answer, dict):
            raise NoAnswer("what it said makes no sense")
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
                raise NoAnswer("it said more than anybody would read")
        return bytes(data[:size])

    def _wait(self) -> None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise NoAnswer("it did not answer in time")
        self._socket.settimeout(left)


def _shown(error: object) -> str:
    return error[:200].decode("utf-8", "replace") if isinstance(error, bytes) else "it reports an error"
