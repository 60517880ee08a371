"""A SQLite database that somebody is writing to, copied together with its journals so that they fit.

A reader's lock would make a commit fail at once where the program has no busy timeout. So none is taken: the
files are looked at before and after they are copied, and `fits` decides whether what was copied is a state
that SQLite itself would recover from. Only a WAL that begins anew faster than a large database can be copied
is held for some milliseconds, by a lock that no writer waits for.
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
_FREE_TRIES = 3  # then a WAL is held
_NAP = 0.001  # seconds; a little more each time, up to five times as much
_PATIENCE = 0.5  # seconds for all tries together, however large the database
_TICK_NS = 20_000_000  # the time that a file system stamps on a file is no finer than this
_LONGEST_HOLD = 0.05  # seconds
_LAST_READER = 127  # the byte of the WAL's index that stands for the last of its readers' locks
_IN_MEMORY = 32 << 20
_MARK = 32  # bytes at the beginning of a journal that tell it from another one
_SHARED_BYTES = (0x40000002, 510)  # where every reader has a lock, and a writer that locks them out


class TooLarge(Exception):
    """One of the files is over the limit."""


class Look:
    """What is seen of a database at one moment."""

    __slots__ = ("header", "journal", "quiet", "signature", "wal", "writing")

    def __init__(self, header: bytes, signature: tuple[int, ...], quiet: bool, journal: bytes, wal: bytes,
                 writing: bool) -> None:
        self.header = header  # it has a counter of commits, which WAL mode does not use
        self.signature = signature
        self.quiet = quiet  # not written in the last moment, so that a write would change the signature
        self.journal = journal  # a random number of the transaction that it belongs to; empty: of none
        self.wal = wal  # its header, with numbers that change when it begins anew; empty: there is none
        self.writing = writing  # somebody has locked out all others


def fits(before: Look, after: Look, journal: bytes, wal: bytes) -> bool:
    """Whether a database that was copied between two looks is whole, together with the journals that were
    copied after it. These are given as in `Look`."""
    if before.header[18:20] != after.header[18:20] or before.signature[3] != after.signature[3]:
        return False  # another mode, or another file
    if (after.journal, after.wal) != (journal, wal) or before.wal != wal:
        return False
    if before.quiet and before.signature == after.signature:
        return before.journal == journal  # nobody wrote to it
    if wal:
        # What a checkpoint of SQLite's wrote into the database meanwhile is in the WAL as well, for that
        # did not begin anew. Whatever was copied of such pages, the WAL has the last word on them.
        return not before.journal and not journal
    if before.journal:
        # The same transaction is still under way. All pages that it has changed are in the journal as they
        # were before, for there they are written first, and it was copied last.
        return before.journal == journal
    # No transaction was under way. One that came and went has changed the counter in the header; one that
    # came and is still there has its journal. Where there are none (modes MEMORY, OFF) there is the lock.
    return (before.header == after.header and not before.writing
            and (bool(journal) or (before.signature == after.signature and not after.writing)))


class File:
    """One copied file: the signature that it had, and its content, piece by piece."""

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
        """Nothing but copying: hashing and compressing take ten times as long, and come later."""
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
    """`now_ns` is the clock of the file system. OSError when the database cannot be opened."""
    begun = before = time.monotonic()
    took = _LONGEST_HOLD
    for attempt in range(1, _TRIES + 1):
        last = attempt == _TRIES or before - begun > _PATIENCE
        hold = _held_wal(name, dir_fd) if attempt > _FREE_TRIES and took < _LONGEST_HOLD else None
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


def _held_wal(name: bytes, dir_fd: int) -> int | None:
    """A descriptor that, while it is open, keeps a WAL from beginning anew, by one of the locks that readers
    have. Writers do not wait for it, nor do SQLite's own checkpoints; only a program that asks for one which
    empties the WAL is told that this cannot be done now."""
    import fcntl

    fd = _open(name + b"-shm", dir_fd)
    if fd is not None:
        try:
            fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, _LAST_READER)
        except OSError:
            pass  # then this try is like the others
    return fd


def _try(name: bytes, dir_fd: int, limit: int | None, now_ns: Callable[[], int], *, cold: bool) -> Copied:
    """`cold`: rather try again than take a database that is whole only with the journal of a transaction."""
    fd = _open(name, dir_fd)
    if fd is None:
        raise FileNotFoundError(name)
    files: dict[bytes, File] = {}
    try:
        # The order of all this is what `fits` counts on: the counter is looked at first and last, the
        # journals within that, and they are copied after the database.
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
        # Which of several databases a transaction has reached is in a file elsewhere: that journal ends so.
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
    """None when there is no regular file of that name."""
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
    """Whether a process has locked the database for itself. This only asks: nobody can notice it."""
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
