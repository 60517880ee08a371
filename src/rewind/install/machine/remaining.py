"""The checkpoints that stay when Rewind goes: whose, and where."""

from __future__ import annotations

import os
from typing import NamedTuple

from rewind import jsonfile
from rewind.checkpoint.project.all_projects import all_projects

_MAX_BYTES = 16 << 20


class Remaining(NamedTuple):
    root: str
    state: str


def known_roots(home: str) -> list[str]:
    """The projects that were ever protected, as `known-stores.json` has them."""
    stores = jsonfile.read_or_empty(os.path.join(home, "known-stores.json"), _MAX_BYTES).get("stores")
    entries = stores.values() if isinstance(stores, dict) else ()
    roots = [entry.get("root") for entry in entries if isinstance(entry, dict)]
    return sorted({root for root in roots if isinstance(root, str) and os.path.isabs(root)
                   and "\0" not in root})


def remaining_checkpoints(home: str) -> list[Remaining]:
    found = [Remaining(one.root or "a project that is not named", one.state)
             for one in all_projects(home) if one.checkpoints]
    return sorted(found)
