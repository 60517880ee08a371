"""Hooks of one place that want a checkpoint at the same moment: one scans, and makes a record for each.

A hook that waits writes a file that says what it asks for. The hook whose turn it is reads these files before
it scans the project, so its scan shows what the others are waiting for as well.
"""

from __future__ import annotations

import os
import time

from rewind import jsonfile
from rewind.errors import Locked
from rewind.files import make_private_dir, unlink_quietly
from rewind.hooks.memory.hook_state import HookState
from rewind.lock import Lock
from rewind.snapshot.scan.moment import Moment

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
_OLD = 600.0  # seconds after which nobody waits any more, whatever process has that id now
# Seconds between two looks: a few milliseconds at first, because a hook that has finished its scan needs no
# more. Then longer and longer, because many hooks may be waiting, and all that they do is look.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.15
_SLOWER = 0.4  # of the time that was waited


class Request:
    """What another hook asks for. Like a `CheckpointJob`, it can be what a scan is made for."""

    def __init__(self, path: str, data: JsonObject) -> None:
        self.path = path
        self.pid = int(_pid_in(path))
        self.until = float(data["until"])  # by the monotonic clock: until then its agent waits
        self.moment = Moment(self.until - time.monotonic())
        self.to_pin: list[str] = []  # a hook with something to pin makes no request
        self.key = str(data["key"])
        self.description = str(data["description"])
        trigger: Any = dict(data["trigger"])
        self.trigger: Trigger = trigger
        self.agent = str(data["agent"])
        self.transcript = str(data["transcript"])

    def mark_done(self) -> None:
        """Tells its hook that the checkpoint is made. A hook that is gone by now needs nothing."""
        try:
            os.rename(self.path, _done(self.path))
        except OSError:
            pass

    def claim_event(self) -> bool:
        """Whether nobody has made it yet; its own hook may have, if it went on without a turn. The caller has
        the lock of the place, under which every key is noted."""
        place_dir = os.path.dirname(os.path.dirname(self.path))
        return os.path.lexists(self.path) and HookState(place_dir).claim(self.key)


class Queue:
    """`with Queue(place_dir, request, until) as queue:` unless `queue.is_done`, it is this hook's turn.

    `request` is None for a checkpoint that no other hook can make. This lock only says who is next. Without
    it, a hook goes on to the lock of the place, which is the one that protects the data.
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
            pass  # the place has no directory yet, or the disk is full: go on without a queue
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._leave()

    def keep(self) -> None:
        """Keep the turn until this process ends, because it goes on with what the others ask for."""
        self._is_kept = True

    def _try(self) -> bool:
        """Whether the wait is over: it is our turn, or another hook has made the checkpoint."""
        has_lock = self._lock.try_acquire()
        self.is_done = self._is_made()  # perhaps just before we got the lock
        if self.is_done or not has_lock:
            return self.is_done
        if not self._is_behind():
            return True
        self._lock.close()
        return False

    def _is_behind(self) -> bool:
        """Whether the hook of an earlier request has left. Its record has to come before ours, and its scan
        before the scan cache learns what changed since."""
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
            unlink_quietly(path)
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
    unlink_quietly(path)  # another process has this id by now
    return None


def _is_left_over(path: str) -> bool:
    """Whether no hook waits for this file. The file of a hook that was killed is removed."""
    name, pid = os.path.basename(path), _pid_in(path)
    if name.startswith(".") or not pid.isdigit():
        return True
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        unlink_quietly(path)
        return True
    except OSError:
        pass  # another user's process lives
    return not name.endswith(".json")
