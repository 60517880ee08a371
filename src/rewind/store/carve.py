"""Finds rows in an object database that SQLite itself can no longer read.

Every row begins with the same bytes, so it is found wherever it is: in the file, in its WAL, or on a freed
page. Nothing is verified here; the caller compares the content with its hash.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator

from rewind.store.objects import PAGE_BYTES as _PAGE

# SQLite's record header: its own length, NULL for the row's number, a blob of 32 bytes, the data.
_START = re.compile(rb"[\x04-\x09]\x00\x4c")
_ID = 32
_WAL_HEADER, _FRAME_HEADER = 32, 24


class _Pages:
    """The pages of the file and of its WAL. If a page is in both, the one in the WAL is newer."""

    def __init__(self, data: bytes, wal: bytes) -> None:
        self._data = data
        self._later: dict[int, bytes] = {}
        self.frames: list[bytes] = []
        for at in range(_WAL_HEADER, len(wal) - _PAGE - _FRAME_HEADER + 1, _PAGE + _FRAME_HEADER):
            (number,) = struct.unpack_from(">I", wal, at)
            page = wal[at + _FRAME_HEADER:at + _FRAME_HEADER + _PAGE]
            self._later[number] = page
            self.frames.append(page)

    def images(self) -> Iterator[bytes]:
        yield from self.frames
        for at in range(0, len(self._data), _PAGE):
            yield self._data[at:at + _PAGE]

    def get(self, number: int, *, from_wal: bool = True) -> bytes | None:
        if from_wal and number in self._later:
            return self._later[number]
        page = self._data[(number - 1) * _PAGE:number * _PAGE] if number else b""
        return page if len(page) == _PAGE else None


def carve(path: str) -> Iterator[tuple[bytes, bytes]]:
    """(id, packed content) of everything that looks like a row; a row may come more than once."""
    pages = _Pages(_content(path), _content(path + "-wal"))
    for image in pages.images():
        for found in _START.finditer(image):
            length = _data_length(image, found.start())
            if length is not None:
                yield from _rows(pages, image, found.start() + image[found.start()], length)


def _content(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        import mmap

        # A slice of it is bytes, so it serves as a byte string that is never in memory as a whole.
        size = os.fstat(fd).st_size
        return mmap.mmap(fd, size, access=mmap.ACCESS_READ) if size else b""  # type: ignore[return-value]
    except OSError:
        return b""
    finally:
        os.close(fd)


def _data_length(image: bytes, at: int) -> int | None:
    """The length of the data according to the record header at this place; None if there is no header."""
    size = image[at]
    header = image[at:at + size]
    if len(header) < size or header[1:3] != b"\x00\x4c":
        return None
    kind = 0
    for number, byte in enumerate(header[3:], 4):
        kind = kind << 7 | byte & 0x7F
        if not byte & 0x80:
            return (kind - 12) // 2 if number == size and kind >= 14 and not kind % 2 else None
    return None


def _rows(pages: _Pages, image: bytes, at: int, length: int) -> Iterator[tuple[bytes, bytes]]:
    """The id and the data that begin at `at`, after their record header."""
    start = at - _header_size(length)
    payload = at - start + _ID + length
    local, spilled = _local(payload)
    body = image[start:start + local]
    if len(body) < local:
        return
    oid = body[at - start:at - start + _ID]
    if not spilled:
        yield oid, body[at - start + _ID:]
        return
    first = image[start + local:start + local + 4]
    for rest in _chains(pages, first, payload - local):
        yield oid, (body + rest)[at - start + _ID:]


def _header_size(length: int) -> int:
    kind, size = 2 * length + 12, 1
    while kind >= 0x80:
        kind >>= 7
        size += 1
    return 3 + size


def _local(payload: int) -> tuple[int, bool]:
    """How many bytes of a row are in its cell, by SQLite's file format, and whether the rest is elsewhere."""
    most = _PAGE - 35
    if payload <= most:
        return payload, False
    least = (_PAGE - 12) * 32 // 255 - 23
    fitting = least + (payload - least) % (_PAGE - 4)
    return (fitting if fitting <= most else least), True


def _chains(pages: _Pages, first: bytes, length: int) -> Iterator[bytes]:
    """The content of the overflow pages: first as the WAL has them, then as the file does."""
    if len(first) < 4:
        return
    for from_wal in (True, False):
        whole = _follow(pages, int.from_bytes(first, "big"), length, from_wal)
        if len(whole) == length:
            yield whole


def _follow(pages: _Pages, number: int, length: int, from_wal: bool) -> bytes:
    parts: list[bytes] = []
    seen: set[int] = set()
    left = length
    while left > 0:
        page = pages.get(number, from_wal=from_wal)
        if page is None or number in seen:
            break
        seen.add(number)
        parts.append(page[4:4 + left])
        left -= len(parts[-1])
        number = int.from_bytes(page[:4], "big")
    return b"".join(parts)
