"""Making a project's state directory, or taking over one that is already there."""

from __future__ import annotations

import os
import time

from rewind import quickjson
from rewind.checkpoint import known_stores
from rewind.checkpoint.seal import sealed
from rewind.checkpoint.state import FORMAT, State, read_store_file
from rewind.errors import RewindError, StoreNotTrusted, UsageError
from rewind.files import make_durable_dir, make_private_dir, write_atomic
from rewind.paths import STORE_FILE, Project, global_state, open_project, project_state
from rewind.snapshot.gitfiles import work_tree_top


def init_project(root: str, home: str, mode: str, trust: bool) -> tuple[State, bool]:
    """The opened state, and whether it is new."""
    root = os.path.realpath(root)
    check_root(root, home)
    existing = open_project(root, home)
    if existing:
        return _reopen(existing, mode, trust), False
    state = project_state(root) if mode == "project" else global_state(root, home)
    project = Project(root, state, home)
    _refuse_planted(project, trust)
    _create(project)
    opened = State(project)
    opened.objects.commit()  # opened, and so made, even where every checkpoint will be an archive
    return opened, True


def check_root(root: str, home: str) -> None:
    """Refuses what can be no project: Rewind's own directory, a whole home or disk, what is not there."""
    own = os.path.realpath(home)
    if root == own or root.startswith(own + os.sep):
        raise UsageError(f"{root} belongs to Rewind itself.",
                         hint="Run `rewind init` in the directory of a project.")
    if root in ("/", os.path.realpath(os.path.expanduser("~"))):
        raise UsageError(f"{root} is too large to be one project.",
                         hint="Run `rewind init` in the directory of one project.")
    if not os.path.isdir(root):
        raise RewindError(f"There is no directory {root}", hint="Check the name, or make it first.")


def root_to_protect(start: str, wanted: str) -> str:
    """What hooks initialise by themselves for a session in `start`, as the setting `init.auto` wants it: the
    top of the git work tree, or the directory itself; never HOME, what holds it, or `/`."""
    start = os.path.realpath(start)
    if wanted == "never" or not os.path.isdir(start):
        return ""
    top = work_tree_top(os.fsencode(start))
    root = os.fsdecode(top) if top else start if wanted == "always" else ""
    own = os.path.realpath(os.path.expanduser("~"))
    return "" if not root or root == "/" or (own + "/").startswith(root.rstrip("/") + "/") else root


def _reopen(project: Project, mode: str, trust: bool) -> State:
    info = read_store_file(project)
    if trust:
        known_stores.remember(project.home, info["id"], project.root)
    return State(project)


def _refuse_planted(project: Project, trust: bool) -> None:
    """Content without a store file was not left by us: `_create` writes that file before any content."""
    if os.path.islink(project.state) or os.path.islink(os.path.dirname(project.state)):
        raise RewindError(f"{project.state} lies behind a symbolic link, and Rewind does not follow it.",
                          hint="Remove the link, then run `rewind init` again.")
    records = project.path("checkpoints")
    empty = not os.path.lexists(records) or (os.path.isdir(records) and not os.listdir(records))
    if not trust and (not empty or os.path.lexists(project.path("objects.db"))):
        raise StoreNotTrusted(path=project.state)


def _create(project: Project) -> None:
    store_id = os.urandom(16).hex()
    make_durable_dir(project.state)
    os.chmod(project.state, 0o700)
    make_private_dir(project.path("checkpoints"))
    write_atomic(project.path(".gitignore"), b"*\n")
    if project.mode == "global":
        info = {"root": project.root}
        write_atomic(project.path("project.json"), quickjson.dump_file(info))
    # Known before it exists: after a crash in between, `init` simply makes another one.
    known_stores.remember(project.home, store_id, project.root)
    data = {"format": FORMAT, "id": store_id, "root": project.root,
            "createdAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    write_atomic(project.path(STORE_FILE), quickjson.dump_file(sealed(data)))
