"""Where things are: Rewind's home, the state of a project, and the project that a directory belongs to."""

from __future__ import annotations

import os

from rewind.fast.sha256 import sha256
from rewind.index import MAIN, STORAGE, load_index
from rewind.project_marker import has_marker, is_tracked, read_marker
from rewind.work_tree import linked_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.index import Index

STATE_IN_PROJECT = os.path.join(".agent", "rewind")
STORE_FILE = "store.json"
PLACES = "places"
TEMP_PREFIX = ".rewind-tmp-"  # and 16 hex digits: a temporary file of ours in a project


class Project:
    """A directory tree that is checkpointed, and the directory that holds its state.

    `root` is the work tree that is meant, which is one place of the project. `main` is the root of its main
    place. All places share one state directory.
    """

    __slots__ = ("home", "main", "marked", "place", "root", "state")

    def __init__(self, root: str, state: str, home: str, place: str = MAIN, main: str = "") -> None:
        self.root = root
        self.state = state
        self.home = home
        self.place = place
        self.main = main or root
        self.marked = ""  # the content of the marker, if it was read when the project was found

    def path(self, *parts: str) -> str:
        """A path in the state directory, which all places share."""
        return os.path.join(self.state, *parts)

    @property
    def place_dir(self) -> str:
        """The directory for what belongs to this place: its sessions, its hooks' memory, its scan cache. For
        the main place it is the state directory itself, as it was before there were other places."""
        return self.state if self.place == MAIN else os.path.join(self.state, PLACES, self.place)

    def own(self, *parts: str) -> str:
        return os.path.join(self.place_dir, *parts)

    @property
    def mode(self) -> str:
        return "project" if self.state == project_state(self.main) else "global"

    def __repr__(self) -> str:
        return f"Project({self.root!r}, {self.mode})" if self.place == MAIN else (
            f"Project({self.root!r}, {self.mode}, {self.place!r})")


def current_dir() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        from rewind.errors import RewindError

        raise RewindError("The directory that you are in does not exist any more.",
                          hint="Go to one that does, or name the project with `--project`.") from None


def is_temp_name(name: bytes) -> bool:
    """Whether this is exactly a name that we make. Any similar name is the user's."""
    prefix = TEMP_PREFIX.encode()
    digits = name[len(prefix):]
    return name.startswith(prefix) and len(digits) == 16 and not digits.strip(b"0123456789abcdef")


def temp_name() -> str:
    return TEMP_PREFIX + os.urandom(8).hex()


def is_state_path(path: bytes) -> bool:
    """Whether a path in a project is in a state directory, of this project or of a nested one."""
    return b"/.agent/rewind/" in b"/" + path + b"/"


def rewind_home() -> str:
    """A relative `REWIND_HOME` is below the home directory. If it were below the current directory, a
    repository could contain one, with a list of trusted stores in it."""
    return os.path.abspath(os.path.join(os.path.expanduser("~"), os.environ.get("REWIND_HOME") or ".rewind"))


def project_state(root: str) -> str:
    return os.path.join(root, STATE_IN_PROJECT)


def global_state(store_id: str, home: str) -> str:
    return os.path.join(home, STORAGE, store_id)


def old_global_state(root: str, home: str) -> str:
    """Where an earlier version put the state: by the path of the project, so moving the project lost it."""
    return os.path.join(home, STORAGE, sha256(os.fsencode(root)).hex()[:32])


def open_project(root: str, home: str | None = None) -> Project | None:
    """The project or place whose top directory is exactly `root`, or None."""
    root = os.path.realpath(root)
    found = find_project(root, home)
    return found if found and found.root == root else None


def find_project(start: str, home: str | None = None) -> Project | None:
    """The nearest project at or above `start`, and its place that `start` is in.

    The search ends at HOME: a state directory that was left in HOME by accident must not turn everything
    below it into one giant project.
    """
    home = home or rewind_home()
    start = os.path.realpath(start)
    stop = os.path.realpath(os.path.expanduser("~"))
    index = load_index(home)
    at = start
    while True:
        if at != stop or at == start:
            project = _project_at(at, home, index) or _linked_place(at, start, home, index)
            if project:
                return project
        parent = os.path.dirname(at)
        if at in (stop, parent):
            return None
        at = parent


def project_of_state(folder: str, home: str | None = None) -> Project | None:
    """The project that has this state directory in global storage. With it, a person can name a project whose
    path belongs to another project by now."""
    home = home or rewind_home()
    folder = os.path.realpath(folder)
    if os.path.dirname(folder) != os.path.realpath(os.path.join(home, STORAGE)):
        return None
    index = load_index(home)
    return next((Project(index.root(store_id), folder, home) for store_id in index.stores
                 if index.root(store_id) and os.path.realpath(index.storage(home, store_id)) == folder), None)


def _linked_place(top: str, start: str, home: str, index: Index) -> Project | None:
    """A linked work tree is a place of the project that is its repository's main work tree, or that is in the
    main work tree at the same relative path."""
    linked = linked_at(top)
    if linked is None:
        return None
    below = os.path.relpath(start, top)
    while True:
        below = "" if below == "." else below
        found = _project_at(os.path.join(linked.main, below).rstrip("/"), home, index)
        if found and found.place == MAIN:
            return Project(os.path.join(top, below).rstrip("/"), found.state, home, linked.name, found.main)
        if not below:
            return None
        below = os.path.dirname(below)


def _project_at(root: str, home: str, index: Index) -> Project | None:
    known = index.at(root)
    has_store = os.path.lexists(os.path.join(project_state(root), STORE_FILE))
    if not known and not has_store:
        return _by_marker(root, home, index)
    marked = read_marker(root)
    found = _moved_over(root, marked, known, home, index)
    if found is None and known:
        found = _known_at(root, *known, home, index)
    if found is None and has_store:
        found = Project(root, project_state(root), home)
    if found:
        found.marked = marked
    return found


def _known_at(root: str, store_id: str, place: str, home: str, index: Index) -> Project | None:
    main = root if place == MAIN else index.root(store_id)
    state = state_of(store_id, main, home, index)
    return Project(root, state, home, place, main) if state else None


def _moved_over(root: str, store_id: str, known: tuple[str, str] | None, home: str,
                index: Index) -> Project | None:
    """A project that was moved to the path of another one. Its marker names the store `store_id`. The other
    project is in the index, or has its state directory here."""
    was = index.root(store_id)
    # If its old path does not belong to this store any more, somebody has chosen another store.
    if not was or was == root or (known and (known[0] == store_id or known[1] != MAIN)) or (
            index.at(was) != (store_id, MAIN)):
        return None
    return _by_marker(root, home, index)


def state_of(store_id: str, root: str, home: str, index: Index) -> str:
    """Where the state of a store is. Global storage comes first: if both exist, a move to it has not yet
    removed the old state, or the state in the project came with a copy of the project."""
    for state in (index.storage(home, store_id), project_state(root), old_global_state(root, home)):
        if os.path.lexists(os.path.join(state, STORE_FILE)):
            return state
    return ""


def _by_marker(root: str, home: str, index: Index) -> Project | None:
    """The project at a path that the index does not know: it was moved, or this is another path to it."""
    if not has_marker(root):
        return None
    store_id = read_marker(root)
    was = index.root(store_id)
    if not was and store_id and os.path.lexists(os.path.join(global_state(store_id, home), STORE_FILE)):
        return Project(root, global_state(store_id, home), home)  # the index is lost, so it is not trusted
    if not was or is_copy(root, was, store_id) or is_tracked(root):
        return None
    state = state_of(store_id, was, home, index)
    return Project(root, state, home) if state and state != project_state(was) else None


def is_copy(root: str, original: str, store_id: str) -> bool:
    """Whether the directory that the store was made for still exists and is another one."""
    if not os.path.isdir(original) or is_same_dir(root, original):
        return False
    return read_marker(original) == store_id


def is_same_dir(one: str, other: str) -> bool:
    """Whether two paths lead to one directory, because of a bind mount or a file system that ignores case."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
