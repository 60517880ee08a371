"""Small files with one JSON object, of Rewind and of agents: read up to a limit, and written as a whole.

Hooks use this, so it does not import `json`. To tell a person what is wrong with a file, use
`config/strictjson.py`.
"""

from __future__ import annotations

from rewind.errors import RewindError
from rewind.fast import quickjson
from rewind.files import read_bounded, write_atomic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    # An object whose keys others decide. Objects that Rewind writes have a TypedDict.
    JsonObject = dict[str, Any]
else:
    JsonObject = dict


def read(path: str, limit: int) -> JsonObject | None:
    """The object in the file. None if the file holds something else, or more than `limit` bytes.

    An `OSError` is passed on, because only the caller knows whether the file must exist."""
    try:
        found = quickjson.loads(read_bounded(path, limit))
    except (ValueError, RecursionError, RewindError):
        return None
    return found if isinstance(found, dict) else None


def read_or_empty(path: str, limit: int) -> JsonObject:
    """The same for an optional file: an empty object if it cannot be read."""
    try:
        return read(path, limit) or {}
    except OSError:
        return {}


def objects_in(value: object) -> list[Any]:
    """The objects in a list that somebody else may have written; none if it is not a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def texts_in(value: object) -> list[str]:
    """The texts in such a list."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def write(path: str, data: Mapping[str, object], *, sync: bool = True) -> None:
    write_atomic(path, quickjson.dump_file(data), sync=sync)
