"""A gzip stream from a stranger: read in small steps, counted, and refused if it is a bomb."""

from __future__ import annotations

import os
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO, NoReturn

_MAGIC = b"\x1f\x8b"
STEP = 256 << 10
# A stream is a bomb if it unpacks to more than the sum of these bytes and this many times the file's size.
FREE_BYTES = 64 << 20
FREE_RATIO = 100


class Inflated:
    """The decompressed stream. It calls `refuse`, which does not return, with the reason."""

    def __init__(self, file: BinaryIO, max_bytes: int | None,
                 refuse: Callable[[str], NoReturn]) -> None:
        packed = os.fstat(file.fileno()).st_size
        self._limit = FREE_BYTES + FREE_RATIO * packed if max_bytes is None else max_bytes
        self._file = file
        self._refuse = refuse
        self._inflate = zlib.decompressobj(31)
        self._is_gzip = False
        self._total = 0
        self._buffer = b""
        self._at = 0

    @property
    def left(self) -> int:
        """How many more bytes the stream may have."""
        return self._limit - self._total + len(self._buffer) - self._at

    def bomb(self) -> NoReturn:
        self._refuse(f"it unpacks to more than {max(self._limit >> 20, 1)} MB, which is too much"
                     " for a file of its size.")

    def read(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end of the stream."""
        parts = []
        while size:
            if self._at == len(self._buffer):
                self._buffer, self._at = self._more(), 0
                if not self._buffer:
                    break
            part = self._buffer[self._at:self._at + size]
            parts.append(part)
            self._at += len(part)
            size -= len(part)
        return b"".join(parts)

    def _more(self) -> bytes:
        data = self._step()
        self._total += len(data)
        if self._total > self._limit:
            self.bomb()
        return data

    def _step(self) -> bytes:
        data = b""
        while not data and not self._inflate.eof:
            packed = self._inflate.unconsumed_tail or self._read_file(STEP)
            self._is_gzip = self._is_gzip or packed.startswith(_MAGIC)
            try:
                data = self._inflate.decompress(packed, STEP)
            except zlib.error:
                self._refuse(self._damage("its compressed data is damaged."))
            if not packed and not data and not self._inflate.eof:
                self._refuse(self._damage("it is cut short."))
        if self._inflate.eof and (self._inflate.unused_data or self._read_file(1)):
            self._refuse("something follows after its end.")
        return data

    def _read_file(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except OSError as error:
            self._refuse(f"it cannot be read ({error.strerror}).")

    def _damage(self, reason: str) -> str:
        return reason if self._is_gzip else "it is not a tar.gz file."
