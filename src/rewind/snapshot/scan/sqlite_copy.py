"""Copies a SQLite database that somebody may be writing to, with its journals, so that they match.

A reader's lock would make a commit fail at once if the program has no busy timeout. So none is taken: the
files are looked at before and after they are copied, and `fits` decides whether SQLite could recover from the
copy. If a WAL starts over faster than a large database can be copied, a lock that no writer waits for
prevents that for some milliseconds.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time

from rewind.snapshot.scan.read import signature
from rewind.snapshot.scan.sqlite_files import HEADER, JOURNAL_MAGIC, WAL_MAGICS
from rewind.store.blobs import CHUNK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
_TRIES = 20
_FREE_TRIES = 3  # after these, a WAL is kept from starting over
_NAP = 0.001  # seconds; longer each time, up to five times as long
_PATIENCE = 0.5  # seconds for all tries together, for a database of any size
_TICK_NS = 20_000_000  # the resolution of times in a file system
_LONGEST_HOLD = 0.05  # seconds
_LAST_READER = 127  # the byte of the WAL's index that is the last reader's lock
_IN_MEMORY = 32 << 20
_MARK = 32  # bytes at the beginning of a journal that distinguish it from another one
_SHARED_BYTES = (0x40000002, 510)  # where readers lock, and a writer that excludes them


class TooLarge(Exception):
    """One of the files is over the limit."""


class Look:
    """The state of a database at one moment."""

    __slots__ = ("header", "journal", "quiet", "signature", "wal", "writing")

    def __init__(self, header: bytes, signature: tuple[int, ...], quiet: bool, journal: bytes, wal: bytes,
                 writing: bool) -> None:
        self.header = header  # contains a counter of commits, which WAL mode does not use
        self.signature = signature
        self.quiet = quiet  # not written to just before, so that a write would change the signature
        self.journal = journal  # the random number of its transaction; empty if there is none
        self.wal = wal  # its header, with numbers that change when it starts over; empty if there is no WAL
        self.writing = writing  # a writer excludes all others


def fits(before: Look, after: Look, journal: bytes, wal: bytes) -> bool:
    """Whether a database that was copied between `before` and `after` is whole together with the journals
    that were copied after it. These are given in the form of `Look`."""
    if before.header[18:20] != after.header[18:20] or before.signature[3] != after.signature[3]:
        return False  # another mode, or another file
    if (after.journal, after.wal) != (journal, wal) or before.wal != wal:
        return False
    if before.quiet and before.signature == after.signature:
        return before.journal == journal  # nobody wrote to it
    if wal:
        # SQLite may have written pages from the WAL into the database meanwhile. They are still in the WAL,
        # because it did not start over, and pages in the WAL take precedence over those in the database.
        return not before.journal and not journal
    if before.journal:
        # The same transaction is still running. The journal has all pages that it changes as they were
        # before, because they are written there first, and the journal was copied last.
        return before.journal == journal
    # No transaction was running. One that has come and gone has changed the counter in the header, and one
    # that is still running has a journal. In modes without a journal (MEMORY, OFF) it has the lock.
    return (before.header == after.header and not before.writing
            and (bool(journal) or (before.signature == after.signature and not after.writing)))


class File:
    """One copied file: its signature, and its content in pieces."""

    def __init__(self, fd: int, limit: int | None) -> None:
        info = os.fstat(fd)
        self.signature = signature(info)
        if limit is not None and info.st_size > limit:
            raise TooLarge
        self._spool: IO[bytes] | None = None
        self._pieces: list[bytes] = []
        if info.st_size > _IN_MEMORY:
            import tempfile

            self._spool = tempfile.TemporaryFile()  # noqa: SIM115 `close` closes it
        self.head = self.tail = b""
        self._copy(fd, info.st_size)

    def _copy(self, fd: int, size: int) -> None:
        """Only copy. Hashing and compressing take ten times as long and come later."""
        at = 0
        while at < size:
            piece = os.pread(fd, min(CHUNK, size - at), at)
            if not piece:
                break
            if self._spool:
                self._spool.write(piece)
            else:
                self._pieces.append(piece)
            self.head = self.head or piece[:_MARK]
            self.tail = (self.tail + piece[-8:])[-8:]
            at += len(piece)

    def pieces(self) -> Iterator[bytes]:
        if self._spool is None:
            yield from self._pieces
            return
        self._spool.seek(0)
        piece = self._spool.read(CHUNK)
        while piece:
            yield piece
            piece = self._spool.read(CHUNK)

    def close(self) -> None:
        if self._spool:
            self._spool.close()


class Copied:
    """The files by name, and whether they are the state of one moment."""

    def __init__(self, files: dict[bytes, File], torn: bool) -> None:
        self.files = files
        self.torn = torn

    def close(self) -> None:
        for file in self.files.values():
            file.close()


def copy_database(name: bytes, dir_fd: int, limit: int | None, now_ns: Callable[[], int]) -> Copied:
    """`now_ns` is the clock of the file system. Raises OSError if the database cannot be opened."""
    begun = before = time.monotonic()
    took = _LONGEST_HOLD
    for attempt in range(1, _TRIES + 1):
        last = attempt == _TRIES or before - begun > _PATIENCE
        hold = _hold_wal(name, dir_fd) if attempt > _FREE_TRIES and took < _LONGEST_HOLD else None
        try:
            copied = _try(name, dir_fd, limit, now_ns, cold=attempt == 1)
        finally:
            if hold is not None:
                os.close(hold)
        if not copied.torn or last:
            return copied
        copied.close()
        took = time.monotonic() - before
        time.sleep(_NAP * min(attempt, 5))
        before = time.monotonic()
    raise AssertionError("unreachable")


def _hold_wal(name: bytes, dir_fd: int) -> int | None:
    """A descriptor with one of the readers' locks, which keeps a WAL from starting over as long as it is
    open. Writers do not wait for it, and neither do SQLite's own checkpoints. Only a program that asks for a
    checkpoint that empties the WAL is told that this is not possible now."""
    import fcntl

    fd = _open(name + b"-shm", dir_fd)
    if fd is not None:
        try:
            fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, _LAST_READER)
        except OSError:
            pass  # this try is then like the others
    return fd


def _try(name: bytes, dir_fd: int, limit: int | None, now_ns: Callable[[], int], *, cold: bool) -> Copied:
    """With `cold`, a copy that needs the journal of a running transaction counts as torn."""
    fd = _open(name, dir_fd)
    if fd is None:
        raise FileNotFoundError(name)
    files: dict[bytes, File] = {}
    try:
        # `fits` relies on this order: the counter is read first and last, the journals are looked at in
        # between, and they are copied after the database.
        header, seen = os.pread(fd, HEADER, 0), signature(os.fstat(fd))
        quiet = max(seen[1:3]) < now_ns() - _TICK_NS
        before = Look(header, seen, quiet, *_journals(name, dir_fd), _is_locked(fd))
        files[name] = File(fd, limit)
        for suffix in (b"-journal", b"-wal"):
            _add(files, name + suffix, dir_fd, limit)
        marks, writing = _journals(name, dir_fd), _is_locked(fd)
        after = Look(os.pread(fd, HEADER, 0), signature(os.stat(name, dir_fd=dir_fd, follow_symlinks=False)),
                     False, *marks, writing)
        journal, wal = files.get(name + b"-journal"), files.get(name + b"-wal")
        copied = (journal_mark(journal.head) if journal else b"", wal_mark(wal.head) if wal else b"")
        # A journal ends like this if its transaction includes several databases. Another file says which.
        several = bool(copied[0]) and journal is not None and journal.tail == JOURNAL_MAGIC
        return Copied(files, not fits(before, after, *copied) or several or (cold and bool(copied[0])))
    except OSError:
        if name in files:
            return Copied(files, True)  # a journal cannot be read
        raise
    except BaseException:
        Copied(files, True).close()
        raise
    finally:
        os.close(fd)


def _add(files: dict[bytes, File], name: bytes, dir_fd: int, limit: int | None) -> None:
    fd = _open(name, dir_fd)
    if fd is not None:
        try:
            files[name] = File(fd, limit)
        finally:
            os.close(fd)


def _open(name: bytes, dir_fd: int) -> int | None:
    """None if there is no regular file with that name."""
    try:
        fd = os.open(name, _FLAGS, dir_fd=dir_fd)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO):
            return None
        raise
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    return None


def journal_mark(head: bytes) -> bytes:
    return head[12:16] if head.startswith(JOURNAL_MAGIC) else b""


def wal_mark(head: bytes) -> bytes:
    return head[:32] if head.startswith(WAL_MAGICS) else b""


def _journals(name: bytes, dir_fd: int) -> tuple[bytes, bytes]:
    return (journal_mark(_beginning(name + b"-journal", dir_fd)),
            wal_mark(_beginning(name + b"-wal", dir_fd)))


def _beginning(name: bytes, dir_fd: int) -> bytes:
    fd = _open(name, dir_fd)
    if fd is None:
        return b""
    try:
        return os.read(fd, _MARK)
    finally:
        os.close(fd)


def _is_locked(fd: int) -> bool:
    """Whether a process has locked the database for itself. This only queries the lock, which nobody can
    notice."""
    import fcntl
    import struct

    start, length = _SHARED_BYTES
    try:
        if sys.platform == "darwin":
            asked = struct.pack("qqihh", start, length, 0, fcntl.F_RDLCK, os.SEEK_SET)
            return bool(struct.unpack("qqihh", fcntl.fcntl(fd, fcntl.F_GETLK, asked))[3] != fcntl.F_UNLCK)
        asked = struct.pack("hhqqi", fcntl.F_RDLCK, os.SEEK_SET, start, length, 0)
        return bool(struct.unpack("hhqqi", fcntl.fcntl(fd, fcntl.F_GETLK, asked))[0] != fcntl.F_UNLCK)
    except (OSError, struct.error):
        return False  # a file system without locks
