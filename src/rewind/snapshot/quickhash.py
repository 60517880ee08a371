"""Digests for comparing with what we saw before; content is named by sha256, elsewhere."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import blake2b
else:
    try:
        from _blake2 import blake2b  # the one in `hashlib`, without loading OpenSSL (3 ms) beside it
    except ImportError:
        from hashlib import blake2b


def digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
