"""Which project a directory is: unchanged, moved, copied, or created again.

Opening a project updates the index and the marker accordingly, and tells the person once.
"""

from __future__ import annotations

import os

from rewind import jsonfile
from rewind.checkpoint.project.known_stores import change, holds, remember
from rewind.errors import RewindError
from rewind.files import make_private_dir, sweep_drafts
from rewind.index import MAIN, Index, load_index
from rewind.paths import Project, is_same_dir
from rewind.project_marker import IN_AGENT, has_marker, read_marker, write_marker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.project.known_stores import KnownStore
    from rewind.jsonfile import JsonObject

MOVED = "This project was moved here from {was}; its checkpoints came along."
MADE_ANEW = ("This directory was created again. The checkpoints of the project that was here before are kept;"
             " to bring it back: rewind restore last")
_PLACE_FILE = "place.json"


def update_index_and_marker(project: Project, store_id: str) -> str:
    """Returns what to tell the person once, if anything. Errors are ignored: the next command tries again."""
    try:
        enter_place(project)
        index = load_index(project.home)
        if (project.place != MAIN or _is_up_to_date(project, store_id, index)
                or not os.path.isdir(project.main)):
            return ""
        return _update_main(project, store_id, index)
    except (OSError, RewindError):
        return ""


def _is_up_to_date(project: Project, store_id: str, index: Index) -> bool:
    """Nearly always true. Every hook asks."""
    if index.root(store_id) != project.main:
        return False
    if project.mode == "project":
        return True
    return bool(index.entry(store_id).get("marked")) and store_id == (project.marked
                                                                      or read_marker(project.main))


def _update_main(project: Project, store_id: str, index: Index) -> str:
    was, root = index.root(store_id), project.main
    if was != root and is_same_dir(was, root):
        _add_alias(project, store_id)
        return ""
    if project.mode == "project":
        if root in index.roots(store_id) and holds(was, store_id):
            return ""  # a copy that a person trusts
        remember(project.home, store_id, root)
        return MOVED.format(was=was) if was and was != root else ""
    notice = _notice(was, root, index.entry(store_id))
    if was != root:
        remember(project.home, store_id, root)
    mark(project, store_id)
    return notice


def _notice(was: str, root: str, entry: JsonObject) -> str:
    if was and was != root:
        return MOVED.format(was=was)
    # If a git repository was created in the directory since, its marker is elsewhere.
    is_new = entry.get("marked") and not os.path.lexists(os.path.join(root, IN_AGENT))
    return MADE_ANEW if is_new and not has_marker(root) else ""


def mark(project: Project, store_id: str) -> None:
    """Put the marker into the project, and note that it has one and where its store is."""
    if os.path.isdir(project.main) and read_marker(project.main) != store_id:
        write_marker(project.main, store_id)

    def put(entry: KnownStore) -> None:
        entry["marked"] = True
        name = os.path.basename(project.state)
        if name != store_id:
            entry["dir"] = name  # an earlier version named the directory by the path

    change(project.home, store_id, put)


def _add_alias(project: Project, store_id: str) -> None:
    def put(entry: KnownStore) -> None:
        known = entry.get("aliases")
        entry["aliases"] = [*(known if isinstance(known, list) else []), project.main][-20:]

    if load_index(project.home).at(project.main) is None:
        change(project.home, store_id, put)


def sweep_place(folder: str) -> None:
    """Remove drafts of the note in a place's directory that a killed process left."""
    sweep_drafts(os.path.join(folder, _PLACE_FILE))


def enter_place(project: Project) -> None:
    """Make the directory of a new place, with a note that says which work tree it is."""
    if project.place == MAIN or os.path.exists(project.own(_PLACE_FILE)):
        return
    make_private_dir(project.place_dir)
    jsonfile.write(project.own(_PLACE_FILE), {"format": 1, "root": project.root})
