"""Digests for comparison with what we saw before. The names of content are sha256 (`sha256.py`)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from hashlib import blake2b
else:
    try:
        from _blake2 import blake2b  # the one in `hashlib`, without loading OpenSSL (3 ms) beside it
    except ImportError:
        from hashlib import blake2b


def digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def digest_of_pieces(pieces: Iterable[bytes]) -> bytes:
    """The same for data that is not in memory all at once."""
    running = blake2b(digest_size=16)
    for piece in pieces:
        running.update(piece)
    return running.digest()
