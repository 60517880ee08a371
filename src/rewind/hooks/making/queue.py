"""Hooks of one place that want a checkpoint at the same moment: one makes it, and records it for all others.

A hook that waits says in a file what it asks for. The one whose turn it is takes the files that are there
before it looks at the tree, so its look is one that the others have waited for as well.
"""

from __future__ import annotations

import os
import time

from rewind import jsonfile
from rewind.errors import Locked
from rewind.files import make_private_dir
from rewind.lock import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypedDict

    from rewind.checkpoint.records.record import Trigger
    from rewind.jsonfile import JsonObject

    class RequestData(TypedDict):
        """What a hook that waits writes: all that is needed to make its checkpoint."""

        until: float
        key: str
        trigger: Trigger
        description: str
        agent: str
        transcript: str

FOLDER, LOCK = "queue", "queue.lock"
_MOST = 64  # that wait in one place
_MAX_BYTES = 1 << 20
_OLD = 600.0  # seconds after which nobody waits any more, whoever has that process id
# Seconds between two looks: first a few milliseconds, as a hook that has looked at the tree needs no more.
# Then longer and longer, for many may wait, and looking is all that they do.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.15
_SLOWER = 0.4  # of the time that was waited


class Request:
    """What another hook asks for."""

    def __init__(self, path: str, data: JsonObject) -> None:
        self.path = path
        self.pid = int(_pid_in(path))
        self.until = float(data["until"])  # by the monotonic clock: so long its agent does nothing
        self.key = str(data["key"])
        self.description = str(data["description"])
        trigger: Any = dict(data["trigger"])
        self.trigger: Trigger = trigger
        self.agent = str(data["agent"])
        self.transcript = str(data["transcript"])

    def mark_done(self) -> None:
        """From here on its hook need not make it. A hook that is gone by now needs nothing."""
        try:
            os.rename(self.path, _done(self.path))
        except OSError:
            pass

    def is_waiting(self) -> bool:
        """Whether nobody has made it yet. Its hook's process may have: where it goes without a turn."""
        return os.path.lexists(self.path)


class Queue:
    """`with Queue(folder, request, until) as queue:` unless `queue.is_done`, it is this hook's turn.

    `request` is None for what nobody else can make. The lock here only says who is next: that of the place is
    what counts, and without this one a hook goes straight there.
    """

    def __init__(self, place_dir: str, request: Callable[[], RequestData] | None, until: float) -> None:
        self.is_done = False
        self._folder = os.path.join(place_dir, FOLDER)
        self._lock = Lock(os.path.join(place_dir, LOCK), "hook", 0)
        self._request = request
        self._path = ""  # of the request, once somebody may take it
        self._until = until
        self._is_kept = False

    def __enter__(self) -> Queue:
        began = time.monotonic()
        try:
            while not self._try():
                if time.monotonic() >= self._until:
                    raise Locked(holder="hooks that came first")
                self._write_request()
                time.sleep(min(_LONGEST_PAUSE, _FIRST_PAUSE + _SLOWER * (time.monotonic() - began)))
        except OSError:
            pass  # a place that has no directory yet, a full disk: without an order, then
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._leave()

    def keep(self) -> None:
        """It stays this hook's turn until its process ends, for it goes on with what the others ask for."""
        self._is_kept = True

    def _try(self) -> bool:
        """Whether the wait is over: by our turn, or because another one has made it."""
        has_lock = self._lock.try_acquire()
        self.is_done = self._is_made()  # perhaps right before we had the lock
        if self.is_done or not has_lock:
            return self.is_done
        if not self._is_behind():
            return True
        self._lock.close()
        return False

    def _is_behind(self) -> bool:
        """Whether somebody came first whose hook is gone. Its record has to come before ours, and its look at
        the tree before others learn what changed since."""
        now, own = time.monotonic(), self._path or "~"
        return any(one.until <= now for one in self.waiting() if one.path < own)

    def _is_made(self) -> bool:
        return bool(self._path) and os.path.lexists(_done(self._path))

    def _write_request(self) -> None:
        if self._path or self._request is None:
            return
        make_private_dir(self._folder)
        if len(os.listdir(self._folder)) >= _MOST:
            raise Locked(holder=f"{_MOST} hooks wait already")
        path = os.path.join(self._folder, f"{time.monotonic_ns():020d}-{os.getpid()}.json")
        jsonfile.write(path, self._request(), sync=False)
        self._path = path

    def _leave(self) -> None:
        for path in (self._path, _done(self._path)) if self._path else ():
            _unlink(path)
        self._path = ""
        if not self._is_kept:
            self._lock.close()

    def waiting(self) -> list[Request]:
        """What the others ask for, in the order in which they came."""
        try:
            names = sorted(os.listdir(self._folder))
        except OSError:
            return []
        paths = [os.path.join(self._folder, name) for name in names]
        found = [_read(path) for path in paths if path != self._path and not _is_left_over(path)]
        return [request for request in found if request]


def _pid_in(path: str) -> str:
    return os.path.basename(path).rpartition(".")[0].rpartition("-")[2]


def _done(path: str) -> str:
    return path[:-len(".json")] + ".done"


def _read(path: str) -> Request | None:
    try:
        request = Request(path, jsonfile.read_or_empty(path, _MAX_BYTES))
    except (ValueError, TypeError, KeyError):
        return None
    if abs(request.until - time.monotonic()) < _OLD:
        return request
    _unlink(path)  # the process id is somebody else's by now
    return None


def _is_left_over(path: str) -> bool:
    """Not of a hook that waits: one that was killed leaves its file, which goes."""
    name, pid = os.path.basename(path), _pid_in(path)
    if name.startswith(".") or not pid.isdigit():
        return True
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        _unlink(path)
        return True
    except OSError:
        pass  # another user's process lives
    return not name.endswith(".json")


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
