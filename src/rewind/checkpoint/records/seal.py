"""A checksum inside a JSON file of ours, so that a flipped bit in it is seen by `validate`."""

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
    """The same with its checksum as the last member."""
    plain = {key: value for key, value in data.items() if key != SEAL}
    return {**plain, SEAL: _seal_of(plain)}


def is_broken(data: Any) -> bool:
    """Whether the content is not what was sealed. What was never sealed is not broken."""
    if not isinstance(data, dict) or SEAL not in data:
        return False
    return bool(data[SEAL] != _seal_of({key: value for key, value in data.items() if key != SEAL}))


def _seal_of(plain: JsonObject) -> str:
    # Sorted: the order of keys means nothing, and whoever rewrites the file may change it.
    return digest(quickjson.dumps(plain, sort_keys=True).encode()).hex()
