"""A process that has made its own checkpoint and goes on for the hooks that came meanwhile.

It has all that a checkpoint needs, so another one costs it a third of what a process of its own would take. A
hook whose request is not done when its turn comes makes its checkpoint itself, whatever happened to this one.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.hooks.making.checkpoint import CheckpointSaver
    from rewind.hooks.making.queue import Queue, Request

_QUICK = 0.5  # seconds: a hook waits longer for a checkpoint that its own process has begun
_LONGEST_STAY = 0.5  # seconds in which nobody came
_LONGEST = 60.0
_SHORTEST_REST, _LONGEST_REST = 0.03, 0.1  # seconds between two looks at the tree, in which more may come


class Service:
    """`stay`: for how many seconds it stays where nobody waits, for hooks that are about to ask."""

    def __init__(self, saver: CheckpointSaver, queue: Queue, stay: float) -> None:
        self._saver = saver
        self._queue = queue
        self._stay = min(_LONGEST_STAY, stay)
        self._served: set[str] = set()

    def run(self) -> None:
        ends = time.monotonic() + _LONGEST
        until = time.monotonic() + max(self._stay, _LONGEST_REST)
        while time.monotonic() < min(until, ends):
            time.sleep(max(_SHORTEST_REST, min(_LONGEST_REST, self._saver.took)))
            waiting = self._queue.waiting()
            if not self.can_serve(waiting):
                return
            if waiting:
                self._serve(_first(waiting))
                until = time.monotonic() + max(self._stay, _LONGEST_REST)

    def can_serve(self, waiting: list[Request]) -> bool:
        """Not where it takes long or a hook goes soon; nor once more what could not be marked as done."""
        now, took = time.monotonic(), self._saver.took
        return took < _QUICK and not any(0 < one.until - now < _needed(took) or one.path in self._served
                                         for one in waiting)

    def _serve(self, one: Request) -> None:
        self._served.add(one.path)
        self._saver.save_for(one)


def _needed(took: float) -> float:
    """Seconds that a hook must still have, by how long the last look took: for a rest and a longer look. With
    less it is better off with a process of its own."""
    return 0.2 + 3 * took


def _first(waiting: list[Request]) -> Request:
    """The late ones go before all others: a later look would put what changed since into the scan cache."""
    now = time.monotonic()
    return next((one for one in waiting if one.until <= now), waiting[0])
