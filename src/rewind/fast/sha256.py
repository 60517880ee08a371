"""sha256, which gives content its name, from the cheapest source.

OpenSSL takes 2 ms to load and is five times as fast as Python's own module. That pays only if there is much
to hash, and a checkpoint after one edit has little.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Hash = Callable[[bytes], Any]

_WORTH_OPENSSL = 1 << 20
_left = _WORTH_OPENSSL  # how many bytes may still be hashed with the slow module
_hash: Hash | None = None


def sha256(data: bytes) -> bytes:
    global _left, _hash
    if _left >= 0:
        _left -= len(data)
        if _left < 0 or _hash is None:
            _hash = _openssl() if _left < 0 else _own()
    digest: bytes = _hash(data).digest()  # type: ignore[misc]
    return digest


def _own() -> Hash:
    for module in () if "hashlib" in sys.modules else ("_sha2", "_sha256"):  # since Python 3.12, and before
        try:
            own: Hash = __import__(module).sha256
            return own
        except ImportError:
            continue
    return _openssl()


def _openssl() -> Hash:
    try:
        # `hashlib` would load all other hashes as well.
        from _hashlib import openssl_sha256 as sha256
    except ImportError:
        from hashlib import sha256
    return sha256
