"""What hooks recorded about sessions, and in which of them a turn is running."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.agents.profile import Profile
    from rewind.checkpoint.project.state import State
    from rewind.jsonfile import JsonObject

_MAX_BYTES = 4 << 20


def recorded_sessions(state: State, place_dir: str = "") -> list[JsonObject]:
    """The sessions that hooks wrote to `session.json` of this place, or of the place with this directory. The
    latest first."""
    folder = place_dir or state.project.place_dir
    data = state.read_json(os.path.join(folder, "session.json"), _MAX_BYTES)
    recent = data.get("recent")
    found = [data, *(recent if isinstance(recent, list) else [])]
    return [s for s in found if isinstance(s, dict) and isinstance(s.get("transcript_path"), str)]


def recorded_session(state: State, session_id: str) -> JsonObject | None:
    return next((s for s in recorded_sessions(state) if s.get("session_id") == session_id), None)


def running_turns(state: State, place_dir: str = "") -> dict[str, Profile]:
    """The sessions of a place in which a turn is running, each with its agent. Hooks recorded that the turn
    began, and the client tells whether it still runs, because no hook is called when a turn is
    interrupted."""
    entries = [entry for entry in recorded_sessions(state, place_dir) if entry.get("running")]
    if not entries:
        return {}
    from rewind.agents.registry import profile_named
    from rewind.transcript.liveness import is_busy

    found = {}
    for entry in entries:
        profile = profile_named(str(entry.get("agent")), state.project.home)
        session_id = str(entry.get("session_id"))
        if is_busy(profile, session_id, entry):
            found[session_id] = profile
    return found
