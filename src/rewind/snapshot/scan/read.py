"""Reads one file into blobs, so that its content at one moment is stored."""

from __future__ import annotations

import os
import stat

from rewind.snapshot.rules.reason_codes import Reasons
from rewind.snapshot.scan.sqlite_files import MAGIC
from rewind.snapshot.trees.tree import CHUNKED, FILE, encode_pieces
from rewind.store.blobs import CHUNK, oid_of, pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rewind.store.blobs import BlobSink

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
_TRIES = 5

GONE = b""
UNREADABLE, TOO_LARGE = Reasons.UNREADABLE, Reasons.TOO_LARGE
DATABASE = b"database"  # of SQLite, and perhaps in use, so it must be copied in another way


class Read:
    """The result: `kind`, `size`, `ref` and the file's signature (`row`), or the reason for a `failure`."""

    __slots__ = ("failure", "kind", "ref", "row", "settled", "size")

    def __init__(self, kind: bytes, size: int, ref: bytes, row: tuple[int, ...], settled: bool,
                 failure: bytes | None = None) -> None:
        self.kind = kind
        self.size = size
        self.ref = ref
        self.row = row
        self.settled = settled  # False if it kept changing: the next scan must look again
        self.failure = failure


def failed(reason: bytes) -> Read:
    return Read(b"", 0, b"", (), False, reason)


def read_file(path: bytes, sink: BlobSink | None, seen: tuple[int, ...] | None = None,
              dir_fd: int | None = None, limit: int | None = None, in_use: bool = False) -> Read:
    """Read a regular file. Its content goes to `sink`, or is only hashed if that is None.

    `seen` is the file's signature as it was listed. If it is the same after reading, the content is of one
    moment, and no look before reading is necessary. A file over `limit` bytes is too large: somebody may
    write to it faster than it can be read. A database that is `in_use`, or is found to be, is not read,
    because its signature does not show whether it was written to meanwhile.
    """
    try:
        fd = os.open(path, _FLAGS, dir_fd=dir_fd)
    except (FileNotFoundError, NotADirectoryError):
        return failed(GONE)
    except OSError:
        return failed(UNREADABLE)
    try:
        return _read_stable(fd, sink, seen or signature(os.fstat(fd)), limit, in_use)
    except FileTrouble:
        return failed(UNREADABLE)  # an I/O error in one file must not affect the others
    finally:
        os.close(fd)


class FileTrouble(Exception):
    """The file itself cannot be read. Errors of the store are of other classes and end the capture. Otherwise
    a full disk would look like a project of unreadable files."""


def read_open(fd: int, size: int, sink: BlobSink | None) -> tuple[bytes, int, bytes]:
    """Read `size` bytes of an open file. Returns kind, size and ref of its entry."""
    os.lseek(fd, 0, os.SEEK_SET)
    return _read_once(fd, size, sink, False)


def _read_stable(fd: int, sink: BlobSink | None, before: tuple[int, ...], limit: int | None,
                 in_use: bool) -> Read:
    for _ in range(_TRIES):
        if not stat.S_ISREG(before[4]):
            return failed(UNREADABLE)  # it became something else since it was listed
        if limit is not None and before[0] > limit:
            return failed(TOO_LARGE)
        kind, size, ref = _read_once(fd, before[0], sink, in_use)
        if kind == DATABASE:
            return failed(DATABASE)
        after = signature(os.fstat(fd))
        if after == before and size == before[0]:
            return Read(kind, size, ref, after, True)
        before, in_use = after, True
        if stat.S_ISREG(before[4]):
            os.lseek(fd, 0, os.SEEK_SET)
    return Read(kind, size, ref, before, False)


def signature(info: os.stat_result) -> tuple[int, ...]:
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_mode


def _read_once(fd: int, expected: int, sink: BlobSink | None, in_use: bool) -> tuple[bytes, int, bytes]:
    """Read as many bytes as the file had when it was looked at, because appending to it may never end."""
    data = _read_upto(fd, min(expected, CHUNK))
    if in_use and data.startswith(MAGIC):
        return DATABASE, 0, b""
    if len(data) < CHUNK:
        return FILE, len(data), _store(data, sink)
    return store_pieces(_rest(fd, data, expected), sink)


def _rest(fd: int, data: bytes, expected: int) -> Iterator[bytes]:
    while data:
        yield data
        expected -= len(data)
        data = _read_upto(fd, min(expected, CHUNK))


def store_pieces(pieces: Iterable[bytes], sink: BlobSink | None) -> tuple[bytes, int, bytes]:
    """Store a file that comes in pieces. Returns kind, size and ref of its entry."""
    stored = [(len(piece), _store(piece, sink)) for piece in pieces]
    if not stored:
        return FILE, 0, _store(b"", sink)
    if len(stored) == 1:
        return FILE, stored[0][0], stored[0][1]
    return CHUNKED, sum(size for size, _ in stored), _store(encode_pieces(stored), sink)


def _read_upto(fd: int, size: int) -> bytes:
    try:
        data = os.read(fd, size)
        while data and len(data) < size:
            more = os.read(fd, size - len(data))
            if not more:
                break
            data += more
    except OSError as error:
        raise FileTrouble from error
    return data


def _store(data: bytes, sink: BlobSink | None) -> bytes:
    oid = oid_of(data)
    if sink is not None and not sink.has(oid):
        sink.put_packed(oid, pack(data, sink.in_bulk))
    return oid
