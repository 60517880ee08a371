"""`known-stores.json`: the stores that this user made or trusted, and where their projects are.

A cloned repository may bring a state directory of its own; its id is not in here, so it is not used.
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
        """What is noted about one store. It is read from a file: any member may be of another type."""

        root: str
        also: list[str]
        aliases: list[str]
        places: dict[str, str]
        addedAt: str
        marked: bool
        dir: str


_MAX_STORE = 1 << 20


def is_known(home: str, store_id: str, project: Project | None = None) -> bool:
    """A store that lies elsewhere than where it was made is a project that was moved; but where the one that
    was made is still in its place, it is a copy, and a repository may bring that along, changed."""
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
    """The store's project is at `root`; where it was before stays known."""
    from rewind.checkpoint.records.record import iso_time

    def put(entry: KnownStore) -> None:
        places = [entry.get("root"), *jsonfile.texts_in(entry.get("also"))]
        before = [known for known in jsonfile.texts_in(places) if known != root]
        entry["root"], entry["addedAt"] = root, iso_time()
        if before:
            entry["also"] = before

    change(home, store_id, put)


def change(home: str, store_id: str, put: Callable[[KnownStore], object]) -> None:
    """Change what is noted about one store, together with whoever else does so now."""
    if not os.path.isdir(home):
        make_durable_dir(home)
    with Lock(os.path.join(home, "known-stores.lock"), "init"):
        data = load_index(home, fresh=True).data
        found: KnownStore | None = data["stores"].get(store_id)
        entry: KnownStore = found if isinstance(found, dict) else {}
        data["stores"].pop(store_id, None)  # the last one counts for a path that two have
        put(entry)
        data["stores"][store_id] = entry
        path = os.path.join(home, FILE)
        sweep_drafts(path)
        jsonfile.write(path, data)


def forget_store(home: str, store_id: str) -> None:
    """Of a store that was never used: its directory is gone again."""
    with Lock(os.path.join(home, "known-stores.lock"), "init"):
        data = load_index(home, fresh=True).data
        if data["stores"].pop(store_id, None) is not None:
            jsonfile.write(os.path.join(home, FILE), data)
