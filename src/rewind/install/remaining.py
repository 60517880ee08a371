"""The checkpoints that stay when Rewind goes: whose, and where."""

from __future__ import annotations

import os
from typing import NamedTuple

from rewind.install.system import read_object
from rewind.paths import global_state, project_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

_MAX_BYTES = 16 << 20


class Remaining(NamedTuple):
    root: str
    state: str


def known_roots(home: str) -> list[str]:
    """The projects that were ever protected, as `known-stores.json` has them."""
    stores = read_object(os.path.join(home, "known-stores.json"), _MAX_BYTES).get("stores")
    entries = stores.values() if isinstance(stores, dict) else ()
    roots = [entry.get("root") for entry in entries if isinstance(entry, dict)]
    return sorted({root for root in roots if isinstance(root, str) and os.path.isabs(root)
                   and "\0" not in root})


def remaining_checkpoints(home: str) -> list[Remaining]:
    found = {state: root for root in known_roots(home)
             for state in (project_state(root), global_state(root, home)) if _has_checkpoints(state)}
    storage = os.path.join(home, "storage")
    for name in _names(storage):
        state = os.path.join(storage, name)
        if state not in found and _has_checkpoints(state):
            root = read_object(os.path.join(state, "project.json"), _MAX_BYTES).get("root")
            found[state] = root if isinstance(root, str) else "a project that is not named"
    return [Remaining(root, state) for state, root in sorted(found.items(), key=lambda one: one[::-1])]


def _has_checkpoints(state: str) -> bool:
    return bool(_names(os.path.join(state, "checkpoints")))


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
