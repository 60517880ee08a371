"""A process that has made its own checkpoint and goes on to make those of hooks that came meanwhile.

Everything that a checkpoint needs is loaded here, so another one takes a third of the time that a process of
its own would take. A hook whose request is not done when its turn comes makes the checkpoint itself, whatever
happened to this process.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.hooks.making.checkpoint import CheckpointSaver
    from rewind.hooks.making.queue import Queue, Request

_QUICK = 0.5  # seconds that a scan may take: a hook waits longer for one that its own process has begun
_LONGEST_STAY = 0.5  # seconds in which no hook came
_LONGEST = 60.0
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.03, 0.1  # seconds between two scans, in which more hooks may come


class Service:
    """`stay`: for how many seconds it waits for hooks that are about to ask."""

    def __init__(self, saver: CheckpointSaver, queue: Queue, stay: float) -> None:
        self._saver = saver
        self._queue = queue
        self._stay = min(_LONGEST_STAY, stay)
        self._served: set[str] = set()

    def run(self) -> None:
        ends = time.monotonic() + _LONGEST
        until = time.monotonic() + max(self._stay, _LONGEST_PAUSE)
        while time.monotonic() < min(until, ends):
            time.sleep(max(_SHORTEST_PAUSE, min(_LONGEST_PAUSE, self._saver.took)))
            waiting = self._queue.waiting()
            if not self.can_serve(waiting):
                return
            if waiting:
                self._serve(_first(waiting))
                until = time.monotonic() + max(self._stay, _LONGEST_PAUSE)

    def can_serve(self, waiting: list[Request]) -> bool:
        """Not if a scan takes long or one of the hooks leaves soon, and not again for a request that could
        not be marked as done."""
        now, took = time.monotonic(), self._saver.took
        return took < _QUICK and not any(0 < one.until - now < _needed(took) or one.path in self._served
                                         for one in waiting)

    def _serve(self, one: Request) -> None:
        self._served.add(one.path)
        self._saver.save_for(one)


def _needed(took: float) -> float:
    """Seconds that a hook must still be able to wait: enough for a pause and a longer scan than the last one.
    With less, it is faster to use a process of its own."""
    return 0.2 + 3 * took


def _first(waiting: list[Request]) -> Request:
    """Late ones go first: a later scan would put what has changed since into the scan cache."""
    now = time.monotonic()
    return next((one for one in waiting if one.until <= now), waiting[0])
