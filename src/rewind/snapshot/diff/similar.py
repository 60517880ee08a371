"""Which of several files another one was renamed from, as git decides it: the same content, else the most
similar one of which at least half is left."""

from __future__ import annotations

import os
from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rewind.snapshot.trees.tree import TreeEntry

_LEAST = 0.5
_MOST_FILES = 1000  # git looks at as many
_PIECE = 64  # bytes of a line that count as one piece


def most_similar(path: bytes, entry: TreeEntry, data: bytes, gone: list[tuple[bytes, TreeEntry]],
                 read: Callable[[TreeEntry], bytes]) -> bytes | None:
    """`gone` are the files that are not there any more."""
    name = os.path.basename(path)
    same = [old for old, found in gone if found.same_content(entry)]
    if same:
        return next((old for old in same if os.path.basename(old) == name), same[0])
    pieces = _pieces(data)
    best, score = None, _LEAST
    for old, found in gone[:_MOST_FILES]:
        if not _could_be(found.size, len(data)):
            continue
        alike = _score(pieces, len(data), read(found))
        if alike > score or (alike == score and (best is None or os.path.basename(old) == name)):
            best, score = old, alike
    return best


def _could_be(one: int, other: int) -> bool:
    """Whether half of the larger one can be in the smaller one at all."""
    return bool(one and other) and min(one, other) >= max(one, other) * _LEAST


def _score(pieces: Counter[bytes], size: int, old: bytes) -> float:
    common = sum((pieces & _pieces(old)).values())
    return common / max(size, len(old))


def _pieces(data: bytes) -> Counter[bytes]:
    """Piece -> how many bytes of the file are such pieces. The ends of lines make no difference."""
    found: Counter[bytes] = Counter()
    for line in data.replace(b"\r\n", b"\n").splitlines(keepends=True):
        for at in range(0, len(line), _PIECE):
            piece = line[at:at + _PIECE]
            found[piece] += len(piece)
    return found
