"""Checks whether the backup contains what a restore has replaced or deleted.

Somebody may write to a file until another one takes its place, and even later through a descriptor or mapped
memory. Such content is stored and reported.
"""

from __future__ import annotations

import os
import stat
import time

from rewind.snapshot.scan.read import FileTrouble, read_open
from rewind.snapshot.trees.tree import TreeEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.snapshot.trees.change import Change
    from rewind.store.blobs import BlobSink

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MOST_HELD = 64  # descriptors
_PATIENCE = 0.05  # seconds that writers get to close a file
_NAP = 0.002


class ReplacedFiles:
    """`found`: path -> content that was replaced and is in no backup."""

    def __init__(self, sink: BlobSink) -> None:
        self._sink = sink
        self._held: list[tuple[Change, int]] = []
        self.found: dict[bytes, TreeEntry] = {}

    def open_old(self, change: Change, name: bytes, dir_fd: int | None) -> int | None:
        """A descriptor of the old file, under its name or the name that it has now, for `compare_old`."""
        if change.before is None:
            return None
        try:
            return os.open(name, _FLAGS, dir_fd=dir_fd)
        except OSError:
            return None  # a link, or unreadable, so the backup could not read it either

    def compare_old(self, change: Change, fd: int | None) -> None:
        """`fd` is the old file. It is closed here, or kept if somebody may continue to write to it."""
        if fd is None:
            return
        may_be_written = is_open_for_writing(fd)
        self._compare(change, fd)
        if may_be_written and len(self._held) < _MOST_HELD:
            self._held.append((change, fd))
        else:
            os.close(fd)

    def compare_in_place(self, change: Change, name: bytes, dir_fd: int) -> None:
        """For a file that is about to be overwritten in place. Whoever has it open keeps using the same
        file."""
        fd = self.open_old(change, name, dir_fd)
        if fd is not None:
            self._compare(change, fd)
            os.close(fd)

    def finish(self) -> None:
        """At the end, check once more what was open for writing. Most writers have finished by now."""
        deadline = time.monotonic() + _PATIENCE
        while self._held:
            change, fd = self._held.pop()
            while is_open_for_writing(fd) and time.monotonic() < deadline:
                time.sleep(_NAP)
            self._compare(change, fd)
            os.close(fd)

    def close(self) -> None:
        for _, fd in self._held:
            os.close(fd)
        self._held.clear()

    def _compare(self, change: Change, fd: int) -> None:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            return
        known = self.found.get(change.path, change.before)
        try:
            kind, size, ref = read_open(fd, info.st_size, None)
            if known is None or (kind, ref) != (known.kind, known.ref):
                kind, size, ref = read_open(fd, os.fstat(fd).st_size, self._sink)
                self.found[change.path] = TreeEntry(kind, stat.S_IMODE(info.st_mode), size, ref)
        except FileTrouble:
            pass  # the backup could not read it either


def is_open_for_writing(fd: int) -> bool:
    """Whether anybody has this file open for writing, or mapped it for writing. True if that is unknown.

    Linux grants a lease on a file only if nobody does. The lease is given back at once. Whoever opens the
    file in between has to wait, so this only checks a file that has no name any more.
    """
    import fcntl
    from _signal import SIGURG  # type: ignore[import-not-found]  # `signal` brings `enum` along

    if not hasattr(fcntl, "F_SETLEASE") or os.fstat(fd).st_nlink:
        return True
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, SIGURG)  # one that does nothing; SIGIO would end the process
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError:
        return True
    return False
