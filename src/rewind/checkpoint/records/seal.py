"""A checksum inside our JSON files, by which `validate` notices a flipped bit."""

from __future__ import annotations

from rewind.fast import quickjson
from rewind.fast.blake2 import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from rewind.jsonfile import JsonObject

SEAL = "check"


def sealed(data: Mapping[str, object]) -> JsonObject:
    """The same data with its checksum as the last member."""
    plain = {key: value for key, value in data.items() if key != SEAL}
    return {**plain, SEAL: _seal_of(plain)}


def is_broken(data: Any) -> bool:
    """Whether the content differs from what was sealed. Data that was never sealed is not broken."""
    if not isinstance(data, dict) or SEAL not in data:
        return False
    return bool(data[SEAL] != _seal_of({key: value for key, value in data.items() if key != SEAL}))


def _seal_of(plain: JsonObject) -> str:
    # Sorted, because a program that rewrites the file may change the order of the keys.
    return digest(quickjson.dumps(plain, sort_keys=True).encode()).hex()
