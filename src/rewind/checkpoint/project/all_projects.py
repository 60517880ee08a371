"""All projects of this user: where each is, where its checkpoints are, and whether it is still there."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rewind.checkpoint.project.init import read_root
from rewind.checkpoint.project.known_stores import store_id_in
from rewind.checkpoint.records.record import is_name
from rewind.errors import StoreDamaged
from rewind.index import MAIN, STORAGE, Index, load_index
from rewind.paths import PLACES, Project, state_of


class ProjectInfo:
    """`last` is the name of the newest checkpoint, which contains its time. `replaced`: another project is at
    its path now."""

    def __init__(self, root: str, state: str, home: str, replaced: bool) -> None:
        self.root = root
        self.state = state
        self.mode = Project(root, state, home).mode
        self.replaced = replaced
        self.exists = os.path.isdir(root) and not replaced
        names = [name for name in _names(os.path.join(state, "checkpoints")) if is_name(name)]
        self.checkpoints = len(names)
        self.last = max(names, default="")
        self.places = _names(os.path.join(state, PLACES))


def all_projects(home: str) -> list[ProjectInfo]:
    """The project with the newest checkpoint comes first."""
    found = [ProjectInfo(root, state, home, replaced) for state, root, replaced in _states(home)]
    return sorted(found, key=lambda one: (one.last, one.root), reverse=True)


def _states(home: str) -> Iterator[tuple[str, str, bool]]:
    """For each store: its directory, the path of its project, and whether another project is there now. First
    the stores in the index, then others in global storage."""
    try:
        index = load_index(home)
    except StoreDamaged:
        index = Index({"stores": {}})  # the stores in global storage are found without it
    seen = set()
    for store_id in index.stores:
        for root in index.roots(store_id):
            state = state_of(store_id, root, home, index)
            if state and state not in seen and store_id_in(state) == store_id:
                seen.add(state)
                is_global = state == index.storage(home, store_id)
                yield state, root, is_global and index.at(root) not in (None, (store_id, MAIN))
    for name in _names(os.path.join(home, STORAGE)):
        state = os.path.join(home, STORAGE, name)
        if state not in seen and os.path.isdir(os.path.join(state, "checkpoints")):
            yield state, read_root(state), False


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError:
        return []
