"""The unit of every store: content that is named by its sha256, and how it is packed."""

from __future__ import annotations

from rewind.fast.sha256 import sha256

CHUNK = 4 << 20  # a larger file is stored in pieces of this size
# Chunks are smaller than this, and the trees of huge directories hardly shrink. So an object that unpacks to
# more than both limits is damage or an attack.
_MOST_UNPACKED = 64 << 20
_MOST_SHRUNK = 8
_RAW = b"\x00"
_ZLIB = b"\x01"
_LOOSE = b"\x02"  # raw, and compressed later, when nobody waits
BUNDLED = b"\x03"  # the content is in a bundle, and the body says where: see `bundles`
_TOO_SMALL_TO_PACK = 64
_SMALL = 8 << 10
_FEW_HASHES = 2 << 10

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Blobs(Protocol):
        """Reads the content of a checkpoint in either format."""

        def get(self, oid: bytes) -> bytes: ...
        def has(self, oid: bytes) -> bool: ...

    class BlobSink(Protocol):
        """Takes the content that a capture reads."""

        in_bulk: bool

        def has(self, oid: bytes) -> bool: ...
        def put_packed(self, oid: bytes, packed: bytes) -> None: ...


class Unreadable(Exception):
    """A blob is missing or does not match its name."""


def oid_of(data: bytes) -> bytes:
    return sha256(data)


def pack(data: bytes, loose: bool = False, level: int = 1) -> bytes:
    """Codec byte and content. A large capture packs `loose` and leaves compression, which takes the most
    time, for later."""
    if len(data) > _TOO_SMALL_TO_PACK:
        if loose:
            return _LOOSE + data
        packed = _deflate(data, level)
        if len(packed) < len(data):
            return _ZLIB + packed
    return _RAW + data


def compressed(packed: bytes) -> bytes:
    """The same content, compressed if it was packed loosely."""
    return pack(packed[1:]) if is_loose(packed) else packed


def raw(data: bytes) -> bytes:
    return _RAW + data


def loose(data: bytes) -> bytes:
    return _LOOSE + data


def pack_hashes(data: bytes, loose: bool = False) -> bytes:
    """For data that consists mostly of hashes, which hardly shrink: only large data is compressed."""
    return _RAW + data if len(data) <= _FEW_HASHES else pack(data, loose)


def _deflate(data: bytes, level: int) -> bytes:
    import zlib  # here and below: a checkpoint of an unchanged tree packs nothing

    if len(data) > _SMALL:
        return zlib.compress(data, level)
    # Preparing tables of the usual size takes three times as long as compressing so little.
    deflater = zlib.compressobj(level, zlib.DEFLATED, 13, 6)
    return deflater.compress(data) + deflater.flush()


def is_loose(packed: bytes) -> bool:
    return packed[:1] == _LOOSE


def is_bundled(packed: object) -> bool:
    return isinstance(packed, bytes) and packed[:1] == BUNDLED


def is_deflated(packed: bytes) -> bool:
    return packed[:1] == _ZLIB


def unpack(oid: bytes, packed: bytes) -> bytes:
    """The content, checked against its hash. Raises Unreadable if a disk or an attacker changed it."""
    codec, body = packed[:1], packed[1:]
    if codec == _ZLIB:
        data = _inflate(body)
    elif codec in (_RAW, _LOOSE):
        data = body
    elif codec == BUNDLED:
        raise Unreadable("its bundle is missing or damaged")
    else:
        raise Unreadable(f"unknown codec {codec!r}")
    if oid_of(data) != oid:
        raise Unreadable("the content does not match its hash")
    return data


def _inflate(body: bytes) -> bytes:
    import zlib

    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(body, max(_MOST_UNPACKED, _MOST_SHRUNK * len(body)))
    except zlib.error as error:
        raise Unreadable(f"it cannot be unpacked ({error})")
    if inflater.unconsumed_tail or not inflater.eof:
        raise Unreadable("it unpacks to more than an object may hold, or is cut short")
    return data


def unpack_if_whole(oid: bytes, packed: bytes) -> bytes | None:
    """None if the content is damaged."""
    try:
        return unpack(oid, packed)
    except Unreadable:
        return None
