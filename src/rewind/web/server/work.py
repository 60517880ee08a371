"""Runs each job in a thread with its own controller, because SQLite connections belong to one thread."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from rewind.controller import Controller
from rewind.errors import RewindError

T = TypeVar("T")

_AT_ONCE = 4  # jobs; pages of long turns take much memory


class JobRunner:
    """Runs functions that take a controller of the project."""

    def __init__(self, root: str, home: str | None = None) -> None:
        self.root = root
        self.home = home
        self._limit: anyio.CapacityLimiter | None = None
        self._running = 0
        self._changed = threading.Condition()

    def run_here(self, job: Callable[[Controller], T]) -> T:
        with self._changed:
            self._running += 1
        try:
            return self._run(job)
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def finish(self, wait: float = 60.0) -> None:
        """Wait for running jobs, so that the server does not end in the middle of a restore."""
        with self._changed:
            self._changed.wait_for(lambda: not self._running, wait)

    def _run(self, job: Callable[[Controller], T]) -> T:
        controller = Controller(self.root, home=self.home, forgiving=True)
        try:
            return job(controller)
        except RewindError:
            raise
        except Exception:
            traceback.print_exc()
            raise
        finally:
            controller.close()

    async def run(self, job: Callable[[Controller], T]) -> T:
        if self._limit is None:  # it belongs to the running loop
            self._limit = anyio.CapacityLimiter(_AT_ONCE)
        return await anyio.to_thread.run_sync(self.run_here, job, limiter=self._limit)
