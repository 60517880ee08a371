"""The moment of a snapshot for which somebody waits only a limited time and then changes files again."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Moment:
    """Until it is over, nobody changes anything that matters, because an agent waits for its hook. What is
    read after that counts only if it has not changed since the moment."""

    def __init__(self, seconds: float) -> None:
        self.until = time.monotonic() + seconds
        self._ahead_ns: int | None = None  # the time of the file system, minus the monotonic clock

    def is_over(self) -> bool:
        return time.monotonic() > self.until

    def left(self) -> float:
        return max(0.0, self.until - time.monotonic())

    def end_at(self, until: float) -> None:
        """By the monotonic clock."""
        self.until = until

    def begin(self, now_ns: int) -> None:
        """`now_ns` is the current time of the file system."""
        self._ahead_ns = now_ns - time.monotonic_ns()

    def ended_before(self, at_ns: int) -> bool:
        """Whether a time of the file system is after the moment."""
        return (self.is_over() and self._ahead_ns is not None
                and at_ns - self._ahead_ns > int(self.until * 1e9))

    def has_changed(self, listed: Sequence[int], found: Sequence[int]) -> bool:
        """Whether a file must have changed since the moment, judged by its signature when it was listed and
        when it was read (size, mtime, ctime, inode, mode; empty if it was gone, or kept changing)."""
        if not self.is_over():
            return False
        # A walk that takes longer than the moment lists later changes, which ctime shows.
        return listed != found or self.ended_before(listed[2])
