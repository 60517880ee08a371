"""Pieces of several files, read as one: a conversation that goes on in another file than it began in.

`lines` and `copying` take it like an open file. Its descriptor is that of the last file, the only one that is
still written to.
"""

from __future__ import annotations

from rewind.transcript.read.lines import read_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO, Union

    Piece = Union[bytes, tuple[BinaryIO, int, int]]


class Joined:
    """`files` are those to close, the last one last; `lacks` says what should have come before these pieces
    and is not there."""

    def __init__(self, pieces: list[Piece], files: list[BinaryIO], lacks: str = "") -> None:
        self._pieces = pieces
        self._files = files
        self.joined_size = sum(map(_length, self._pieces))
        self.lacks = lacks

    def parts(self, start: int, end: int) -> Iterator[Piece]:
        """What lies between two offsets."""
        at = 0
        for piece in self._pieces:
            first, stop = max(start - at, 0), min(end - at, _length(piece))
            at += _length(piece)
            if first < stop:
                yield piece[first:stop] if isinstance(piece, bytes) else (
                    piece[0], piece[1] + first, piece[1] + stop)

    def read_joined(self, offset: int, count: int) -> bytes:
        found = []
        for part in self.parts(offset, offset + count):
            found.append(part if isinstance(part, bytes) else read_at(part[0], part[1], part[2] - part[1]))
        return b"".join(found)

    def fileno(self) -> int:
        return self._files[-1].fileno()

    def close(self) -> None:
        for file in self._files:
            file.close()

    def __enter__(self) -> Joined:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _length(piece: Piece) -> int:
    return len(piece) if isinstance(piece, bytes) else piece[2] - piece[1]
