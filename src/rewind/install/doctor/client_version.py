"""Which version of an agent's client is in use: the one that is running, or the one that wrote last."""

from __future__ import annotations

import os
import re

from rewind import jsonfile
from rewind.agents.profile import Profile, pick
from rewind.agents.registry import session_home
from rewind.errors import RewindError
from rewind.transcript.find import SessionFile, latest_sessions
from rewind.transcript.read.lines import events_backward, open_transcript

_MAX_BYTES = 1 << 20
_LINES = 200


def client_version(profile: Profile, root: str | None, home: str) -> tuple[int, ...]:
    """The version of the newest client that runs, else of the one that wrote the latest session of the
    project at `root`. Empty if neither is known."""
    running = max(map(numbers, _running(profile)), default=())
    if running or root is None:
        return running
    sessions = (one for one in latest_sessions(root, home) if one.profile.name == profile.name)
    latest = next(sessions, None)
    return numbers(version_in(latest)) if latest else ()


def _running(profile: Profile) -> list[str]:
    """The versions in the notes that clients keep about themselves while they run."""
    folder = os.path.join(session_home(profile) or "", "sessions")
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".json")]
    except OSError:
        return []
    found = [jsonfile.read_or_empty(os.path.join(folder, name), _MAX_BYTES).get("version") for name in names]
    return [version for version in found if isinstance(version, str)]


def version_in(session: SessionFile) -> str:
    """The version of the client that wrote last."""
    try:
        with open_transcript(session.path) as file:
            for number, event in enumerate(events_backward(file)):
                found = pick(event.data, session.profile.lines["version"])
                if isinstance(found, str):
                    return found
                if number > _LINES:
                    break
    except RewindError:
        pass
    return ""


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d{1,9}", version)[:3])
