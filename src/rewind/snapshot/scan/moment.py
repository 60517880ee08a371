"""The moment that a snapshot is of, where somebody waits for it only so long and then changes files again."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Moment:
    """Until it is over, nobody changes anything that matters: an agent waits for its hook. What is read
    after that counts only if it is still as it was listed, and was listed as it had been before."""

    def __init__(self, seconds: float) -> None:
        self.until = time.monotonic() + seconds
        self._ahead_ns: int | None = None  # of the clock of the file system, once it is known

    def is_over(self) -> bool:
        return time.monotonic() > self.until

    def left(self) -> float:
        return max(0.0, self.until - time.monotonic())

    def end_at(self, until: float) -> None:
        """By the monotonic clock."""
        self.until = until

    def begin(self, now_ns: int) -> None:
        """`now_ns` is what the clock of the file system says now."""
        self._ahead_ns = now_ns - time.monotonic_ns()

    def ended_before(self, at_ns: int) -> bool:
        """By the clock of the file system: whether that was after it."""
        return (self.is_over() and self._ahead_ns is not None
                and at_ns - self._ahead_ns > int(self.until * 1e9))

    def has_changed(self, listed: Sequence[int], found: Sequence[int]) -> bool:
        """Whether a file must have changed since, by its signature when it was listed and when it was read
        (size, mtime, ctime, inode, mode; nothing when it was gone, or did not stand still)."""
        if not self.is_over():
            return False
        # A walk that takes longer than the moment lists what came after it: ctime is the kernel's own.
        return listed != found or self.ended_before(listed[2])
