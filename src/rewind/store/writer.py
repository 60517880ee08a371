"""Writes to the store's database while the caller reads and hashes the next files.

SQLite lets other threads run while it works, so on two cores a first checkpoint takes less time. One thread
uses the connection at a time: the caller waits for the writer before it asks anything itself.
"""

from __future__ import annotations

from _thread import allocate_lock, get_ident, start_new_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Writer:
    """A second thread that does one piece of work after the other."""

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
        """As soon as the piece before it is done. What went wrong with that one is raised here."""
        self.wait()
        self._done.acquire()
        self._work = work
        self._begin.release()

    def wait(self) -> None:
        """Until nothing is being done. Raises what went wrong."""
        with self._done:
            error, self._error = self._error, None
        if error:
            raise error

    def close(self) -> None:
        """The thread ends. What went wrong and was not asked for is dropped."""
        with self._done:
            self._work = None
            self._begin.release()
