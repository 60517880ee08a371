"""Unpacks versions of a file one after another. What two of them begin with, packed, is unpacked and hashed
once: up to the first difference, deflate makes the same bytes of the same content."""

from __future__ import annotations

from rewind.store.blobs import is_deflated, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    # (packed bytes read, bytes that they gave, the inflater then, the hash then)
    Mark = tuple[int, int, Any, Any]

_STEP = 4 << 10  # packed bytes from one mark to the next
_MOST = 8 << 20  # an object that is larger is unpacked by itself


class Alike:
    """For one thread."""

    def __init__(self) -> None:
        self._packed = b""
        self._data = b""
        self._marks: list[Mark] = []

    def unpack(self, oid: bytes, packed: bytes) -> bytes:
        """The content, verified."""
        if not is_deflated(packed) or len(packed) < 2 * _STEP:
            return unpack(oid, packed)
        data = self._inflate(oid, packed)
        return unpack(oid, packed) if data is None else data  # which says what is wrong with it

    def _inflate(self, oid: bytes, packed: bytes) -> bytes | None:
        import zlib

        at, size, inflater, digest = self._begin(packed)
        parts: list[bytes | memoryview] = [memoryview(self._data)[:size]]
        try:
            while at < len(packed) and not inflater.eof and size <= _MOST:
                part = inflater.decompress(packed[at:at + _STEP], _MOST)
                if inflater.unconsumed_tail:
                    break
                digest.update(part)
                parts.append(part)
                at, size = at + _STEP, size + len(part)
                self._marks.append((at, size, inflater.copy(), digest.copy()))
        except zlib.error:
            pass  # it is not at its end then
        if not inflater.eof or digest.digest() != oid:
            self._packed, self._data, self._marks = b"", b"", []
            return None
        self._packed, self._data = packed, b"".join(parts)
        return self._data

    def _begin(self, packed: bytes) -> Mark:
        """At the last mark before the first difference; what comes after it does not count any more."""
        common = _common(self._packed, packed)
        while self._marks and self._marks[-1][0] > common:
            self._marks.pop()
        if not self._marks:
            import zlib
            from hashlib import sha256

            self._marks.append((1, 0, zlib.decompressobj(), sha256()))
        at, size, inflater, digest = self._marks[-1]
        return at, size, inflater.copy(), digest.copy()


def _common(one: bytes, other: bytes) -> int:
    """How many bytes both begin with, in whole steps."""
    at, most = 0, min(len(one), len(other))
    while at < most and one[at:at + _STEP] == other[at:at + _STEP]:
        at += _STEP
    return min(at, most)
