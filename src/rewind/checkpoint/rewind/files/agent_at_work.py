"""In the middle of an agent's turn its files are not pulled away under it, unless a person insists."""

from __future__ import annotations

import os

from rewind.checkpoint.project.state import State
from rewind.errors import TurnRunning


def refuse_while_running(state: State, force: bool) -> None:
    """By what the hooks recorded of the latest session, and by what the client says of itself."""
    if force or not os.path.exists(state.project.own("session.json")):
        return
    from rewind.agents.registry import profile_named
    from rewind.checkpoint.conversations.which_session import recorded_sessions
    from rewind.transcript.liveness import is_busy

    for entry in recorded_sessions(state):
        profile = profile_named(str(entry.get("agent")), state.project.home)
        if entry.get("running") and is_busy(profile, str(entry.get("session_id")), entry):
            raise TurnRunning(agent=profile.title)
