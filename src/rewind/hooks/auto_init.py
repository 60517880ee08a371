"""Protecting a project that nobody has initialised yet, where the settings want it."""

from __future__ import annotations

import os

from rewind.checkpoint.project.init import init_project, root_to_protect, wanted_mode
from rewind.paths import Project, project_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.config.load import Settings


def auto_init(starts: list[str], settings: Settings, home: str, *, is_copy: bool = False) -> Project | None:
    for start in starts:
        root = root_to_protect(start, settings.get("init.auto"))
        # A state directory that is there already was not made by this user: `init --trust` is theirs to say.
        # Only that of a copied project is known; the copy gets one of its own.
        if root and (is_copy or not os.path.lexists(project_state(root))):
            state, _ = init_project(root, home, wanted_mode(settings, root), False)
            state.close()
            return state.project
    return None
