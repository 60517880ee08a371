"""`known-stores.json`: the stores that this user made or trusted.

A cloned repository may bring a state directory of its own; its id is not in here, so it is not used.
"""

from __future__ import annotations

import os
import time

from rewind import quickjson
from rewind.errors import RewindError, StoreDamaged
from rewind.files import Lock, make_private_dir, read_bounded, write_atomic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_BYTES = 16 << 20


def is_known(home: str, store_id: str) -> bool:
    return store_id in _load(home)["stores"]


def remember(home: str, store_id: str, root: str) -> None:
    make_private_dir(home)
    with Lock(os.path.join(home, "known-stores.lock"), "init"):
        data = _load(home)
        added = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        data["stores"][store_id] = {"root": root, "addedAt": added}
        write_atomic(_file(home), quickjson.dump_file(data))


def _file(home: str) -> str:
    return os.path.join(home, "known-stores.json")


def _load(home: str) -> dict[str, Any]:
    try:
        data = quickjson.loads(read_bounded(_file(home), _MAX_BYTES))
    except FileNotFoundError:
        return {"format": 1, "stores": {}}
    except (ValueError, RecursionError, RewindError):
        data = None
    if not isinstance(data, dict) or not isinstance(data.get("stores"), dict):
        raise StoreDamaged(what=f"{_file(home)} is not readable",
                           hint="Move it away, then run `rewind init --trust` in each project.")
    return data
