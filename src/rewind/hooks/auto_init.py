"""Protecting a project that nobody has initialised yet, where the settings want it."""

from __future__ import annotations

import os

from rewind.checkpoint.init import init_project, root_to_protect
from rewind.paths import Project, project_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.config.load import Settings


def auto_init(starts: list[str], settings: Settings, home: str) -> Project | None:
    for start in starts:
        root = root_to_protect(start, settings.get("init.auto"))
        # A state directory that is there already was not made by this user: `init --trust` is theirs to say.
        if root and not os.path.lexists(project_state(root)):
            state, _ = init_project(root, home, settings.get("storage.mode"), False)
            state.close()
            return state.project
    return None
