"""Reading one file into blobs, so that what is stored is what the file held at one moment."""

from __future__ import annotations

import os
import stat

from rewind.snapshot.tree import CHUNKED, FILE, encode_pieces
from rewind.store.blobs import CHUNK, oid_of, pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.store.blobs import BlobSink

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
_TRIES = 5

GONE = b""
UNREADABLE, TOO_LARGE = b"unreadable", b"too-large"


class Read:
    """The outcome: `kind`, `size`, `ref` and the file's signature; or a reason in `failure`."""

    __slots__ = ("failure", "kind", "ref", "row", "settled", "size")

    def __init__(self, kind: bytes, size: int, ref: bytes, row: tuple[int, ...], settled: bool,
                 failure: bytes | None = None) -> None:
        self.kind = kind
        self.size = size
        self.ref = ref
        self.row = row
        self.settled = settled  # False: it kept changing under the reads; look again next time
        self.failure = failure


def failed(reason: bytes) -> Read:
    return Read(b"", 0, b"", (), False, reason)


def read_file(path: bytes, sink: BlobSink | None, seen: tuple[int, ...] | None = None,
              dir_fd: int | None = None, limit: int | None = None) -> Read:
    """Read a regular file; its content goes to `sink` unless that is None (hash only).

    `seen` is the file's signature as it was listed: if it still holds after reading, then the
    content is of one moment, and the look before reading is saved. Over `limit` bytes it is too large:
    somebody may write to it faster than it can be read.
    """
    try:
        fd = os.open(path, _FLAGS, dir_fd=dir_fd)
    except (FileNotFoundError, NotADirectoryError):
        return failed(GONE)
    except OSError:
        return failed(UNREADABLE)
    try:
        return _read_stable(fd, sink, seen or signature(os.fstat(fd)), limit)
    except _FileTrouble:
        return failed(UNREADABLE)  # an I/O error of this one file must not cost the others
    finally:
        os.close(fd)


class _FileTrouble(Exception):
    """The file itself cannot be read. The store's troubles are errors of another kind: they end
    the capture, or a full disk would look like a project of unreadable files."""


def _read_stable(fd: int, sink: BlobSink | None, before: tuple[int, ...], limit: int | None) -> Read:
    for _ in range(_TRIES):
        if not stat.S_ISREG(before[4]):
            return failed(UNREADABLE)  # it became something else since it was listed
        if limit is not None and before[0] > limit:
            return failed(TOO_LARGE)
        kind, size, ref = _read_once(fd, before[0], sink)
        after = signature(os.fstat(fd))
        if after == before and size == before[0]:
            return Read(kind, size, ref, after, True)
        before = after
        if stat.S_ISREG(before[4]):
            os.lseek(fd, 0, os.SEEK_SET)
    return Read(kind, size, ref, before, False)


def signature(info: os.stat_result) -> tuple[int, ...]:
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_mode


def _read_once(fd: int, expected: int, sink: BlobSink | None) -> tuple[bytes, int, bytes]:
    """As many bytes as it had when it was looked at: what is appended meanwhile may have no end."""
    data = _read_upto(fd, min(expected, CHUNK))
    if len(data) < CHUNK:
        return FILE, len(data), _store(data, sink)
    pieces = []
    while data:
        pieces.append((len(data), _store(data, sink)))
        expected -= len(data)
        data = _read_upto(fd, min(expected, CHUNK))
    if len(pieces) == 1:
        return FILE, pieces[0][0], pieces[0][1]
    return CHUNKED, sum(size for size, _ in pieces), _store(encode_pieces(pieces), sink)


def _read_upto(fd: int, size: int) -> bytes:
    try:
        data = os.read(fd, size)
        while data and len(data) < size:
            more = os.read(fd, size - len(data))
            if not more:
                break
            data += more
    except OSError as error:
        raise _FileTrouble from error
    return data


def _store(data: bytes, sink: BlobSink | None) -> bytes:
    oid = oid_of(data)
    if sink is not None and not sink.has(oid):
        sink.put_packed(oid, pack(data, sink.in_bulk))
    return oid
