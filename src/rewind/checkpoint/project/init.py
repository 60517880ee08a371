"""Making a project's state directory, or taking over one that is already there."""

from __future__ import annotations

import os

from rewind import jsonfile
from rewind.checkpoint.project import identity, known_stores
from rewind.checkpoint.project.state import FORMAT, State, read_store_file
from rewind.checkpoint.records.record import iso_time
from rewind.checkpoint.records.seal import sealed
from rewind.config.load import Settings
from rewind.errors import RewindError, StoreDamaged, StoreNotTrusted, UsageError
from rewind.files import make_durable_dir, make_private_dir, write_atomic
from rewind.index import MAIN, STORAGE, load_index
from rewind.lock import Lock
from rewind.paths import STORE_FILE, Project, global_state, open_project, project_state
from rewind.snapshot.rules.gitfiles import work_tree_top
from rewind.work_tree import linked_at

PROJECT_FILE = "project.json"
INIT_LOCK = "init.lock"


def init_project(root: str, home: str, mode: str, trust: bool) -> tuple[State, bool]:
    """The opened state, and whether it is new."""
    root = os.path.realpath(root)
    check_root(root, home)
    found = _existing(root, home, trust)
    if found:
        return found, False
    if not os.path.isdir(home):
        make_durable_dir(home)
    with Lock(os.path.join(home, INIT_LOCK), "init"):  # otherwise two hooks could make two stores
        load_index(home, fresh=True)
        found = _existing(root, home, trust)
        return (found, False) if found else _make(root, home, mode, trust)


def _existing(root: str, home: str, trust: bool) -> State | None:
    existing = open_project(root, home)
    return _reopen(existing, trust) if existing and (trust or not _is_copied(existing)) else None


def _make(root: str, home: str, mode: str, trust: bool) -> tuple[State, bool]:
    is_copied = open_project(root, home) is not None
    mode = "global" if is_copied else mode  # the copied store stays as it is
    main, place = _main_of(root, mode)
    nameless = "" if is_copied else _without_store_file(main, home, trust)
    store_id = "" if is_copied or nameless else _unindexed_store(main, home)
    mode = "global" if store_id or nameless else mode
    state = (project_state(main) if mode == "project"
             else global_state(store_id or nameless or os.urandom(16).hex(), home))
    project = Project(root, state, home, place, main)
    if store_id:
        known_stores.remember(home, store_id, main)
    else:
        _refuse_planted(project, trust)
        _create(project)
    opened = State(project)
    identity.update_index_and_marker(project, opened.store_info["id"])
    opened.objects.commit()  # creates the database, even if every checkpoint will be an archive
    return opened, not store_id


def _main_of(root: str, mode: str) -> tuple[str, str]:
    """For a directory in a linked work tree: the project that it belongs to, and the name of the place. A
    bare repository has no main work tree that could hold the state."""
    top = work_tree_top(os.fsencode(root))
    linked = linked_at(os.fsdecode(top)) if top else None
    if linked is None or (mode == "project" and not os.path.lexists(os.path.join(linked.main, ".git"))):
        return root, MAIN
    below = os.path.relpath(root, linked.top)
    return os.path.normpath(os.path.join(linked.main, below)), linked.name


def _is_copied(project: Project) -> bool:
    """Whether the store in the project is a copy of one that is still where it was made."""
    store_id = known_stores.store_id_in(project.state)
    if os.path.islink(project.state) or os.path.islink(os.path.dirname(project.state)):
        return False  # refused when it is opened
    return (project.mode == "project" and known_stores.is_known(project.home, store_id)
            and not known_stores.is_known(project.home, store_id, project))


def _without_store_file(root: str, home: str, trust: bool) -> str:
    """The id of this project's store in global storage if only its `store.json` is missing."""
    index = load_index(home)
    known = index.at(root)
    state = index.storage(home, known[0]) if known else ""
    if not state or not os.path.isdir(os.path.join(state, "checkpoints")):
        return ""
    if not trust:
        raise StoreDamaged(what=f"{os.path.join(state, STORE_FILE)} is missing",
                           hint="Run `rewind init --trust` to make a new one; the checkpoints are kept.")
    return os.path.basename(state)


def _unindexed_store(root: str, home: str) -> str:
    """A store in global storage for this path that is missing in the index."""
    storage, known = os.path.join(home, STORAGE), load_index(home).stores
    for name in sorted(os.listdir(storage)) if os.path.isdir(storage) else ():
        state = os.path.join(storage, name)
        if name not in known and known_stores.store_id_in(state) == name and read_root(state) == root:
            return name
    return ""


def read_root(state: str) -> str:
    """The project root that a directory in global storage names."""
    root = jsonfile.read_or_empty(os.path.join(state, PROJECT_FILE), 1 << 20).get("root")
    return root if isinstance(root, str) else ""


def wanted_mode(settings: Settings, root: str) -> str:
    """The mode of the settings. By default it is `project` if HOME is lost with this container and the
    project is not."""
    mode = str(settings.get("storage.mode"))
    is_default = settings.source("storage.mode") == "default"
    return "project" if is_default and mode == "global" and home_is_temporary(root) else mode


def home_is_temporary(root: str) -> bool:
    """Whether HOME is on the container's own layer and the project on another mount."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            mounts = [line.split(" ") for line in file]
    except OSError:
        return False
    kinds = {m[4]: m[m.index("-") + 1] for m in mounts if "-" in m and len(m) > 6}
    own, other = _mount_of(os.path.realpath(os.path.expanduser("~")), kinds), _mount_of(root, kinds)
    return kinds.get(own) == "overlay" and other not in (own, "/") and kinds.get(other) != "overlay"


def _mount_of(path: str, kinds: dict[str, str]) -> str:
    around = [at for at in kinds if (path + "/").startswith(at.rstrip("/") + "/")]
    return max(around, key=len, default="")


def check_root(root: str, home: str) -> None:
    """Refuse Rewind's own directory, a home directory, the whole disk, and a directory that does not
    exist."""
    own = os.path.realpath(home)
    if root == own or root.startswith(own + os.sep):
        raise UsageError(f"{root} belongs to Rewind itself.",
                         hint="Run `rewind init` in the directory of a project.")
    if root in ("/", os.path.realpath(os.path.expanduser("~"))):
        raise UsageError(f"{root} is your home directory or a system directory.",
                         hint="Run `rewind init` in the directory of one project.")
    if not os.path.isdir(root):
        raise RewindError(f"There is no directory {root}", hint="Check the name, or make it first.")


def root_to_protect(start: str, wanted: str) -> str:
    """The directory that hooks initialise for a session in `start`. It depends on the setting `init.auto`:
    the top of the git work tree, or the directory itself; never HOME, a directory above it, or `/`."""
    start = os.path.realpath(start)
    if wanted == "never" or not os.path.isdir(start):
        return ""
    top = work_tree_top(os.fsencode(start))
    root = os.fsdecode(top) if top else start if wanted == "always" else ""
    own = os.path.realpath(os.path.expanduser("~"))
    return "" if not root or root == "/" or (own + "/").startswith(root.rstrip("/") + "/") else root


def _reopen(project: Project, trust: bool) -> State:
    if trust:
        project = _prefer_store_inside(project)
        known_stores.remember(project.home, read_store_file(project)["id"], project.main)
    state = State(project)
    identity.update_index_and_marker(project, state.store_info["id"])
    return state


def _prefer_store_inside(project: Project) -> Project:
    """Trusting means using the store that came with the project, even if this copy has a store of its own."""
    inside = Project(project.root, project_state(project.main), project.home, project.place, project.main)
    return inside if os.path.lexists(inside.path(STORE_FILE)) else project


def _refuse_planted(project: Project, trust: bool) -> None:
    """Refuse content without a store file. It is not ours: `_create` writes that file before any content."""
    if os.path.islink(project.state) or os.path.islink(os.path.dirname(project.state)):
        raise RewindError(f"{project.state} is behind a symbolic link, which Rewind does not follow.",
                          hint="Remove the link, then run `rewind init` again.")
    records = project.path("checkpoints")
    empty = not os.path.lexists(records) or (os.path.isdir(records) and not os.listdir(records))
    if not trust and (not empty or os.path.lexists(project.path("objects.db"))):
        raise StoreNotTrusted(path=project.state)


def _create(project: Project) -> None:
    """In global storage the directory is named by the store's id."""
    store_id = os.path.basename(project.state) if project.mode == "global" else os.urandom(16).hex()
    make_durable_dir(project.state)
    os.chmod(project.state, 0o700)
    make_private_dir(project.path("checkpoints"))
    write_atomic(project.path(".gitignore"), b"*\n")
    if project.mode == "global":
        jsonfile.write(project.path(PROJECT_FILE), {"root": project.main})
    data = {"format": FORMAT, "id": store_id, "root": project.main, "createdAt": iso_time()}
    # In the project, the id is noted before the store exists: a crash in between would otherwise leave a
    # store that nobody trusts. In global storage it is noted afterwards, because other processes look up the
    # stores that are noted; `_unindexed_store` finds a store that a crash left.
    if project.mode != "global":
        known_stores.remember(project.home, store_id, project.main)
    jsonfile.write(project.path(STORE_FILE), sealed(data))
    if project.mode == "global":
        known_stores.remember(project.home, store_id, project.main)
