"""The bytes behind an entry, piece by piece, verified on the way out of the store."""

from __future__ import annotations

from rewind.errors import StoreDamaged
from rewind.snapshot.trees.tree import CHUNKED, FILE, LINK, TreeEntry, decode_pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from rewind.store.blobs import Blobs


def pieces_of(entry: TreeEntry, blobs: Blobs) -> Iterator[bytes]:
    """The content of a file or the target of a link, with at most one chunk in memory."""
    if entry.kind == LINK:
        yield entry.ref
    elif entry.kind == FILE:
        yield _sized(blobs.get(entry.ref), entry.size)
    elif entry.kind == CHUNKED:
        pieces = decode_pieces(blobs.get(entry.ref))
        if sum(size for size, _ in pieces) != entry.size:
            raise StoreDamaged(what=f"the chunks of {entry.ref.hex()} do not add up")
        for size, oid in pieces:
            yield _sized(blobs.get(oid), size)


def _sized(data: bytes, size: int) -> bytes:
    if len(data) != size:
        raise StoreDamaged(what=f"an object is {len(data)} bytes long where {size} are recorded")
    return data


def whole(entry: TreeEntry, blobs: Blobs) -> bytes:
    return b"".join(pieces_of(entry, blobs))
