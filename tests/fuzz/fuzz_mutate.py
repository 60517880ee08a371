"""Ways to spoil bytes and JSON. All of it from one random generator, so that a seed is a case."""

from __future__ import annotations

import json
from random import Random
from typing import Any

STRANGE_TEXTS = (
    "",
    "\x00",
    "../../outside",
    "/etc/passwd",
    "a" * 5000,
    "\ud800",
    "%s%n",
    "-rf",
    "--",
    "\x1b[2J",
    "20261115_101502_001",
    "last",
    "\u202e",
    "{}",
    "nul",
    "~",
    "$(touch pwned)",
    ".git",
    "é\n\t",
)
STRANGE_VALUES = (
    None,
    True,
    False,
    0,
    -1,
    1 << 70,
    -(1 << 70),
    0.5,
    1e308,
    [],
    {},
    [[]],
    {"": None},
    *STRANGE_TEXTS,
)
_WORTHY = (0, 1, 10, 32, 34, 44, 47, 92, 123, 125, 127, 128, 255)


def spoil_bytes(rng: Random, data: bytes) -> bytes:
    """Anything that a disk, another program or a person may do to a file, once or a few times."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at = rng.randrange(len(out) + 1)
        what = rng.randrange(7)
        if what == 0 and out:
            out[min(at, len(out) - 1)] ^= 1 << rng.randrange(8)
        elif what == 1 and out:
            out[min(at, len(out) - 1)] = rng.choice(_WORTHY)
        elif what == 2:
            del out[at:]
        elif what == 3:
            del out[at : at + rng.choice((1, 2, 16, 512, 4096))]
        elif what == 4:
            out[at:at] = rng.randbytes(rng.choice((1, 8, 600))) if hasattr(rng, "randbytes") else b"\xff\x00"
        elif what == 5:
            out[at:at] = out[: rng.choice((1, 40, 4096))]
        else:
            out[at : at + 512] = b"\0" * 512
    return bytes(out)


def spoil_json(rng: Random, data: bytes) -> bytes:
    """A file that is JSON still, and says something else than it should."""
    try:
        value = json.loads(data)
    except ValueError:
        return spoil_bytes(rng, data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        value = _spoil_value(rng, value)
    return json.dumps(value).encode("utf-8", "surrogatepass")


def _spoil_value(rng: Random, value: Any) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        what = rng.randrange(8)
        if what == 0:
            return {k: v for k, v in value.items() if k != key}
        if what == 1:
            return {**value, rng.choice(STRANGE_TEXTS): value[key]}
        return {**value, key: _spoil_value(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        what = rng.randrange(8)
        if what == 0:
            return value * 2
        if what == 1:
            return value[:at] + value[at + 1 :]
        return [*value[:at], _spoil_value(rng, value[at]), *value[at + 1 :]]
    if isinstance(value, str) and value and rng.random() < 0.4:
        return rng.choice((value * 2, value[:-1], value + rng.choice(STRANGE_TEXTS), value[::-1]))
    if isinstance(value, int) and rng.random() < 0.4:
        return rng.choice((-value, value + 1, value << 40, str(value)))
    return rng.choice(STRANGE_VALUES)


def spoil(rng: Random, data: bytes) -> bytes:
    return spoil_json(rng, data) if rng.random() < 0.5 else spoil_bytes(rng, data)
