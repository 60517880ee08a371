"""A person's new name for a fork, written into the agent's own list as well."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.checkpoint.conversations.recorded_sessions import recorded_session
from rewind.checkpoint.conversations.session_tree import SessionInfo
from rewind.checkpoint.conversations.trash import checked_fork
from rewind.checkpoint.project.state import State
from rewind.checkpoint.project.unfinished import Unfinished
from rewind.errors import NotAFork, RewindError
from rewind.transcript.liveness import is_open
from rewind.transcript.write.fork import temp_of
from rewind.transcript.write.retitle import given_title, keeps_titles, needs_new_file, retitle

if TYPE_CHECKING:
    from rewind.checkpoint.operation_log.line import Effect


def title_change(info: SessionInfo, name: str) -> Effect:
    """The title that the file has and the one that it gets. The log needs both to undo the change."""
    profile, path = info.file.profile, info.file.path
    if not keeps_titles(profile):
        return {}
    before = given_title(path, profile)
    return {"agent": profile.name, "path": path, "titleBefore": before, "titleAfter": name}


def write_title(state: State, effect: Effect) -> str:
    """Write the title of a rename into the transcript. Returns a note for the person if it was not
    written."""
    if "titleAfter" not in effect:
        return ""
    try:
        profile, path, session = checked_fork(state, effect)
        if not os.path.lexists(path) or given_title(path, profile) != effect["titleBefore"]:
            return ""  # a killed process has already written it, or somebody has renamed it since
        if needs_new_file(profile) and is_open(profile, session, recorded_session(state, session)):
            return (f"{profile.title} has this session open and keeps its own title."
                    " Close it, then rename it again.")
        with Unfinished(state.project, temp_of(path)):
            retitle(path, profile, str(effect["titleAfter"]))
    except NotAFork:
        return ""
    except (OSError, RewindError) as error:
        return f"The agent's own list keeps the old title: {error}"
    return ""
