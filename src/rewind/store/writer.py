"""Writes to the store's database while the caller reads and hashes the next files.

SQLite lets other threads run while it works, so a first checkpoint takes less time on two cores. Only one
thread uses the connection at a time: the caller waits for the writer before it uses the connection itself.
"""

from __future__ import annotations

from _thread import allocate_lock, get_ident, start_new_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Writer:
    """A second thread that does one piece of work after another."""

    def __init__(self) -> None:
        self._work: Callable[[], None] | None = None
        self._error: BaseException | None = None
        self._begin, self._done = allocate_lock(), allocate_lock()
        self._begin.acquire()
        self._thread = start_new_thread(self._run, ())

    def _run(self) -> None:
        while True:
            self._begin.acquire()
            work = self._work
            if work is None:
                return
            try:
                work()
            except BaseException as error:
                self._error = error
            self._done.release()

    def is_this_thread(self) -> bool:
        return get_ident() == self._thread

    def do(self, work: Callable[[], None]) -> None:
        """Start this as soon as the piece before it is done. Raises the error of that one."""
        self.wait()
        self._done.acquire()
        self._work = work
        self._begin.release()

    def wait(self) -> None:
        """Wait until the work is done. Raises its error."""
        with self._done:
            error, self._error = self._error, None
        if error:
            raise error

    def close(self) -> None:
        """End the thread. An error that nobody waited for is dropped."""
        with self._done:
            self._work = None
            self._begin.release()
