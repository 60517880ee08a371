"""Protecting a project that nobody has initialised yet, where the settings want it."""

from __future__ import annotations

import os

from rewind.checkpoint.init import init_project
from rewind.paths import Project, project_state
from rewind.snapshot.gitfiles import work_tree_top

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.config.load import Settings


def auto_init(starts: list[str], settings: Settings, home: str) -> Project | None:
    wanted = settings.get("init.auto")
    for start in starts if wanted != "never" else ():
        root = _root(start, wanted)
        # A state directory that is there already was not made by this user: `init --trust` is theirs to say.
        if root and not os.path.lexists(project_state(root)):
            state, _ = init_project(root, home, settings.get("storage.mode"), False)
            state.close()
            return state.project
    return None


def _root(start: str, wanted: str) -> str:
    """The top of the git work tree, or the directory itself; never HOME, what holds it, or `/`."""
    start = os.path.realpath(start)
    if not os.path.isdir(start):
        return ""
    top = work_tree_top(os.fsencode(start))
    root = os.fsdecode(top) if top else start if wanted == "always" else ""
    own = os.path.realpath(os.path.expanduser("~"))
    return "" if not root or root == "/" or (own + "/").startswith(root.rstrip("/") + "/") else root
