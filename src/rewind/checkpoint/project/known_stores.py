"""`known-stores.json`: the stores that this user made or trusted, and where their projects are.

A cloned repository may contain a state directory. Its id is not in this file, so it is not used.
"""

from __future__ import annotations

import os

from rewind import jsonfile
from rewind.files import make_durable_dir, sweep_drafts
from rewind.index import FILE, load_index
from rewind.lock import Lock
from rewind.paths import STORE_FILE, Project, is_same_dir, project_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict

    class KnownStore(TypedDict, total=False):
        """The entry of one store. It is read from a file, so any member may have another type."""

        root: str
        also: list[str]
        aliases: list[str]
        places: dict[str, str]
        addedAt: str
        marked: bool
        dir: str


_MAX_STORE = 1 << 20


def is_known(home: str, store_id: str, project: Project | None = None) -> bool:
    """Whether this user made or trusted the store. If it is not where it was made, the project was moved; but
    if the original is still there, it is a copy. A copy is not known: a repository may contain a changed
    one."""
    index = load_index(home)
    if store_id not in index.stores or project is None or project.mode != "project":
        return store_id in index.stores
    roots = index.roots(store_id)
    return not roots or project.main in roots or not any(
        holds(root, store_id) and not is_same_dir(root, project.main) for root in roots)


def holds(root: str, store_id: str) -> bool:
    """Whether the state directory in a project is this store."""
    return store_id_in(project_state(root)) == store_id


def store_id_in(state: str) -> str:
    found = jsonfile.read_or_empty(os.path.join(state, STORE_FILE), _MAX_STORE).get("id")
    return found if isinstance(found, str) else ""


def remember(home: str, store_id: str, root: str) -> None:
    """Note that the store's project is at `root`. Its earlier paths stay noted."""
    from rewind.checkpoint.records.record import iso_time

    def put(entry: KnownStore) -> None:
        places = [entry.get("root"), *jsonfile.texts_in(entry.get("also"))]
        before = [known for known in jsonfile.texts_in(places) if known != root]
        entry["root"], entry["addedAt"] = root, iso_time()
        if before:
            entry["also"] = before

    change(home, store_id, put)


def change(home: str, store_id: str, put: Callable[[KnownStore], object]) -> None:
    """Change the entry of one store. Other processes may change the file at the same time."""
    if not os.path.isdir(home):
        make_durable_dir(home)
    with Lock(os.path.join(home, "known-stores.lock"), "init"):
        data = load_index(home, fresh=True).data
        found: KnownStore | None = data["stores"].get(store_id)
        entry: KnownStore = found if isinstance(found, dict) else {}
        data["stores"].pop(store_id, None)  # of two stores with the same path, the last entry counts
        put(entry)
        data["stores"][store_id] = entry
        path = os.path.join(home, FILE)
        sweep_drafts(path)
        jsonfile.write(path, data)


def forget_store(home: str, store_id: str) -> None:
    """Remove the entry of a store that was never used and whose directory was removed."""
    with Lock(os.path.join(home, "known-stores.lock"), "init"):
        data = load_index(home, fresh=True).data
        if data["stores"].pop(store_id, None) is not None:
            jsonfile.write(os.path.join(home, FILE), data)
