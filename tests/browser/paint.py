"""A picture to be pasted into a prompt: a small landscape, made here, so that it is nobody's."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any


def png(width: int, height: int) -> str:
    """As base64."""
    rows = b"".join(b"\0" + b"".join(bytes(_at(x / width, y / height)) for x in range(width))
                    for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head)
                            + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")).decode()


def _at(x: float, y: float) -> tuple[int, int, int]:
    """A sun over two hills."""
    if (x - 0.7) ** 2 + ((y - 0.3) * 0.56) ** 2 < 0.004:
        return 250, 210, 120
    if y > 0.75 - 0.3 * x * (1 - x):
        return 60, 110, 90
    if y > 0.55 + 0.25 * (x - 0.3) ** 2:
        return 110, 155, 130
    return 190 - int(60 * y), 215 - int(20 * y), 235


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def picture(data: str, kind: str = "image/png") -> dict[str, Any]:
    """A block of a prompt."""
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
