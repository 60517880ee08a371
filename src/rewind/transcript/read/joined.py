"""Conversations that `lines` and `copying` read like an open file, although they are not one file
on the disk."""

from __future__ import annotations

from rewind.transcript.read.lines import read_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO, Union

    Piece = Union[bytes, tuple[BinaryIO, int, int]]


class VirtualFile:
    """`read_joined` gives its bytes, and `joined_size` says how many there are. `files` are closed with it.
    Its descriptor is that of the last one, the only one that is still written to. `lacks` says what should
    come before its beginning and is missing."""

    def __init__(self, files: list[BinaryIO], lacks: str = "") -> None:
        self._files = files
        self.joined_size = 0
        self.lacks = lacks

    def fileno(self) -> int:
        return self._files[-1].fileno()

    def close(self) -> None:
        for file in self._files:
            file.close()

    def __enter__(self) -> VirtualFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Joined(VirtualFile):
    """Pieces of several files: a conversation that continues in another file than it began in."""

    def __init__(self, pieces: list[Piece], files: list[BinaryIO], lacks: str = "") -> None:
        super().__init__(files, lacks)
        self._pieces = pieces
        self.joined_size = sum(map(_length, pieces))

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


def _length(piece: Piece) -> int:
    return len(piece) if isinstance(piece, bytes) else piece[2] - piece[1]
