"""Which conversation is meant: the one that was named, the one this process runs in, or the latest."""

from __future__ import annotations

import os
import time

from rewind import quickjson
from rewind.agents.registry import is_under_root, profile_for, profile_named, profile_of_environment
from rewind.checkpoint.branches import Branches
from rewind.errors import RewindError, SessionNotFound, StoreUnavailable
from rewind.files import read_bounded
from rewind.transcript.find import (
    SessionFile,
    belonging,
    candidates,
    find_session,
    project_sessions,
    session_anywhere,
    session_with_id,
)
from rewind.transcript.lines import TranscriptNotFound
from rewind.transcript.names import SUFFIX, session_id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from rewind.checkpoint.conversation import Captured
    from rewind.checkpoint.state import State

_RECENT = 600.0
_MAX_BYTES = 4 << 20


class NoSession(SessionNotFound):
    """No conversation of this project was found."""

    hint = "Name one with --session ID, or a transcript with --session FILE.jsonl."


class Chosen:
    """The session, and what a person should know about the choice."""

    def __init__(self, session: SessionFile, note: str = "") -> None:
        self.session = session
        self.note = note


def choose_session(state: State, named: str | None = None,
                   environ: Mapping[str, str] | None = None) -> Chosen:
    """By name, else by the environment, else the latest that the hooks recorded, else the latest there is."""
    environ = os.environ if environ is None else environ
    if named:
        return Chosen(_named(state, named, environ))
    here = _of_environment(state, environ)
    if here:
        return Chosen(here)
    lost = environ.get("REWIND_SESSION_ID")
    root, untouched = state.project.root, _untouched_forks(state)
    found = [(s, sure) for s, sure in candidates(root, environ, state.project.home)
             if untouched.get(s.session_id) != s.size]
    taken = next(recorded_files(state, environ), None) or next(belonging(found, root), None)
    if taken is None:
        raise NoSession()
    recent = belonging(found, root, time.time() - _RECENT)
    other = next((s for s in recent if s.path != taken.path), None)
    if lost and lost != taken.session_id:
        return Chosen(taken, f"Took session {taken.session_id}, for this project has none with the id that"
                             f" REWIND_SESSION_ID names: {lost}")
    if other is None:
        return Chosen(taken)
    return Chosen(taken, f"Took session {taken.session_id}; {other.session_id} was also active in the last"
                         " minutes (choose with --session).")


def _untouched_forks(state: State) -> dict[str, Any]:
    """Forks and the size they were made with: nobody works in one before something is said there."""
    try:
        return {branch["sessionId"]: branch.get("size") for branch in Branches(state).all}
    except RewindError:
        return {}


def capture_current(state: State, session: SessionFile | None = None) -> tuple[Captured | None, str]:
    """For a checkpoint: the conversation of this session, else of the one that is going on, if any; and
    why it is left out. Whatever is wrong with it, the code is saved."""
    try:
        session = session or choose_session(state).session
        from rewind.checkpoint.conversation import capture  # not before there is something to capture

        return capture(state, session.path, session.profile), ""
    except (SessionNotFound, TranscriptNotFound):
        return None, ""
    except StoreUnavailable:
        raise  # a full disk, say: the code could not be saved either
    except (RewindError, OSError) as error:
        return None, f"The conversation is left out: {error}"


def session_at(path: str, home: str, environ: Mapping[str, str] | None = None) -> SessionFile:
    """A transcript that a person names by its path."""
    path = os.path.abspath(path)
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        raise TranscriptNotFound(path=path)
    return SessionFile(path, profile_for(path, environ, home), info)


def _named(state: State, named: str, environ: Mapping[str, str]) -> SessionFile:
    if os.sep in named or named.endswith(SUFFIX):
        return session_at(named, state.project.home, environ)
    return _of_project(state, named, environ)


def _of_project(state: State, text: str, environ: Mapping[str, str]) -> SessionFile:
    """By its id or the beginning of one; by its whole id wherever it lies, if it is one of this project."""
    try:
        return find_session(project_sessions(state.project.root, environ, state.project.home), text)
    except SessionNotFound:
        found = moved_session(state, text, environ)
        if found is None:
            raise
        return found


def moved_session(state: State, session_id: str, environ: Mapping[str, str]) -> SessionFile | None:
    """A session of this project whose transcript its agent has moved to another one's folder: it began here,
    or our hooks have seen it."""
    found = session_with_id(state.project.root, session_id, environ, state.project.home)
    recorded = None if found else recorded_session(state, session_id)
    return _recorded_file(state, recorded, environ) if recorded else found


def _of_environment(state: State, environ: Mapping[str, str]) -> SessionFile | None:
    path = environ.get("REWIND_TRANSCRIPT_PATH")
    if path and path.endswith(SUFFIX):
        try:
            return session_at(path, state.project.home, environ)
        except TranscriptNotFound:
            # It was there, or was to be, when the session started.
            session = session_id_of(path, profile_for(path, environ, state.project.home))
            moved = moved_session(state, session, environ)
            if moved is None:
                raise
            return moved
    profile = profile_of_environment(environ, state.project.home)
    variable = profile.environment["session"] if profile else None
    wanted = environ.get("REWIND_SESSION_ID") or (environ.get(variable) if variable else None)
    if not wanted:
        return None
    try:
        return _of_project(state, wanted, environ)
    except RewindError:
        return None  # the agent works on another project, or has not written anything yet


def recorded_sessions(state: State) -> list[dict[str, Any]]:
    """What the hooks wrote to `session.json`, the latest first."""
    try:
        data = quickjson.loads(read_bounded(state.project.path("session.json"), _MAX_BYTES))
    except (OSError, ValueError, RecursionError, RewindError):
        return []
    if not isinstance(data, dict):
        return []
    recent = data.get("recent")
    found = [data, *(recent if isinstance(recent, list) else [])]
    return [s for s in found if isinstance(s, dict) and isinstance(s.get("transcript_path"), str)]


def recorded_session(state: State, session_id: str) -> dict[str, Any] | None:
    return next((s for s in recorded_sessions(state) if s.get("session_id") == session_id), None)


def recorded_files(state: State, environ: Mapping[str, str] | None = None) -> Iterator[SessionFile]:
    """The transcripts of the sessions that the hooks have seen, the latest first, where they still exist."""
    environ = os.environ if environ is None else environ
    found = (_recorded_file(state, entry, environ) for entry in recorded_sessions(state))
    return (file for file in found if file)


def _recorded_file(state: State, entry: dict[str, Any], environ: Mapping[str, str]) -> SessionFile | None:
    """Where it was when it was recorded, else where it is now."""
    path = entry["transcript_path"]
    profile = profile_named(str(entry.get("agent")), state.project.home)
    # The path came from a payload: only what lies where this agent keeps its sessions is used.
    if not is_under_root(profile, path, environ):
        return None
    if os.path.isfile(path):
        return SessionFile(path, profile, os.stat(path))
    return session_anywhere(profile, session_id_of(path, profile), environ, near=path)
