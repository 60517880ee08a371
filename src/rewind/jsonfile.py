"""The small files that Rewind and its agents keep as one JSON object: read within a limit, written whole.

It is on the hook's way, so it does without `json`. Where a person is to be told what is wrong with a file,
see `config/strictjson.py`.
"""

from __future__ import annotations

from rewind.errors import RewindError
from rewind.fast import quickjson
from rewind.files import read_bounded, write_atomic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    # One whose keys others decide. What Rewind itself writes has a shape with a name.
    JsonObject = dict[str, Any]
else:
    JsonObject = dict


def read(path: str, limit: int) -> JsonObject | None:
    """The object in the file. None: there is something else, or more of it than `limit` bytes.

    An `OSError` passes: only the caller knows whether the file has to be there."""
    try:
        found = quickjson.loads(read_bounded(path, limit))
    except (ValueError, RecursionError, RewindError):
        return None
    return found if isinstance(found, dict) else None


def read_or_empty(path: str, limit: int) -> JsonObject:
    """The same for what can be done without: an empty object where there is none to be read."""
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
