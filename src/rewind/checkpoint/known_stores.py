"""`known-stores.json`: the stores that this user made or trusted.

A cloned repository may bring a state directory of its own; its id is not in here, so it is not used.
"""

from __future__ import annotations

import os
import time

from rewind import quickjson
from rewind.errors import RewindError, StoreDamaged
from rewind.files import Lock, make_durable_dir, read_bounded, sweep_drafts, write_atomic
from rewind.paths import STORE_FILE, project_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.paths import Project

_MAX_BYTES = 16 << 20
_MAX_STORE = 1 << 20


def is_known(home: str, store_id: str, project: Project | None = None) -> bool:
    """A store that lies elsewhere than where it was made is a project that was moved; but where the one that
    was made is still in its place, it is a copy, and a repository may bring that along, changed."""
    told = _load(home)["stores"].get(store_id)
    if told is None or project is None or project.mode != "project":
        return told is not None
    roots = _roots(told)
    return not roots or project.root in roots or not any(_holds(root, store_id) for root in roots)


def _roots(told: Any) -> list[str]:
    if not isinstance(told, dict):
        return []
    also = told.get("also")
    return [root for root in [told.get("root"), *(also if isinstance(also, list) else [])]
            if isinstance(root, str)]


def _holds(root: str, store_id: str) -> bool:
    try:
        data = quickjson.loads(read_bounded(os.path.join(project_state(root), STORE_FILE), _MAX_STORE))
    except (OSError, ValueError, RecursionError, RewindError):
        return False
    return isinstance(data, dict) and data.get("id") == store_id


def remember(home: str, store_id: str, root: str) -> None:
    if not os.path.isdir(home):
        make_durable_dir(home)
    with Lock(os.path.join(home, "known-stores.lock"), "init"):
        data = _load(home)
        added = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        before = [known for known in _roots(data["stores"].get(store_id)) if known != root]
        data["stores"][store_id] = {"root": root, "addedAt": added, **({"also": before} if before else {})}
        sweep_drafts(_file(home))
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
