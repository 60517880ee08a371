"""Which conversation is meant: the named one, the one in which this process runs, or the latest."""

from __future__ import annotations

import os
import time

from rewind.agents.registry import is_under_root, profile_for, profile_named, profile_of_environment
from rewind.checkpoint.conversations.recorded_sessions import recorded_session, recorded_sessions
from rewind.errors import NoSession, RewindError, SessionNotFound, StoreUnavailable, TranscriptNotFound
from rewind.transcript.find import (
    SessionFile,
    candidates,
    find_session,
    project_sessions,
    session_anywhere,
    session_with_id,
    sessions_begun_in,
)
from rewind.transcript.names import SUFFIX, session_id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rewind.agents.profile import Profile
    from rewind.checkpoint.conversations.stored import Captured
    from rewind.checkpoint.project.known_forks import KnownFork
    from rewind.checkpoint.project.state import State
    from rewind.jsonfile import JsonObject
    from rewind.transcript.liveness import Clients

_RECENT = 600.0


class Chosen:
    """The session, and a note for the person about the choice."""

    def __init__(self, session: SessionFile, note: str = "") -> None:
        self.session = session
        self.note = note


def choose_session(state: State, named: str | None = None, *, with_prompt: bool = False,
                   has_prompt: Callable[[SessionFile], bool] | None = None) -> Chosen:
    """Choose by name, else by the environment, else the session that a client has open, else the latest that
    hooks recorded, else the latest of all. `with_prompt` limits the last two to sessions with a prompt that
    can be taken back. A caller that reads more of each transcript passes its own test as `has_prompt`."""
    if named:
        return Chosen(_named(state, named))
    here = _of_environment(state)
    if here:
        return Chosen(here)
    files = _Candidates(state)
    opened = files.opened()
    taken = opened[0] if opened else files.latest((has_prompt or _has_prompt) if with_prompt else None)
    if taken is None:
        raise NoSession()
    lost = os.environ.get("REWIND_SESSION_ID")
    if lost and lost != taken.session_id:
        return Chosen(taken, f"Using session {taken.session_id}: this project has none with the id in"
                             f" REWIND_SESSION_ID, {lost}")
    return Chosen(taken, _note(taken, opened, files))


def _note(taken: SessionFile, opened: list[SessionFile], files: _Candidates) -> str:
    """If another session could be meant: which one is used, and how to name the other one."""
    others = [file for file in opened if file.session_id != taken.session_id]
    other = others[0] if others else files.also_active(taken)
    if other is None:
        return ""
    why = f", which is open in {taken.profile.title}" if opened else ""
    what = (f"is open in {other.profile.title} as well" if others else "was also active in the last minutes")
    return (f"Using session {taken.session_id}{why}. Another one {what}. To use that one:"
            f" --session {other.session_id}")


class _Candidates:
    """The sessions that may be meant if none is named. Each is opened only when it is needed."""

    def __init__(self, state: State) -> None:
        self._root = state.area()
        self._activity = SessionActivity(state)
        self._seen = list(recorded_files(state))
        self._found = candidates(self._root, state.project.home)
        forks = _forks(state)
        # A fork in which nothing was said yet is not in use.
        untouched = {fork["sessionId"]: fork.get("size") for fork in forks}
        shared = {fork["sessionId"] for fork in forks if fork.get("shared")}  # from `open` or `remote pull`
        self._touched = [(s, sure) for s, sure in self._found if untouched.get(s.session_id) != s.size]
        self._shared = [(s, sure) for s, sure in self._found if s.session_id in shared]

    def opened(self) -> list[SessionFile]:
        """The sessions that a client has open, the one written last first."""
        def is_open(file: SessionFile) -> bool:
            return self._activity.is_open(file.profile, file.session_id)

        known = {file.session_id for file in self._seen}
        others = [(s, sure) for s, sure in self._found if s.session_id not in known and is_open(s)]
        found = [file for file in self._seen if is_open(file)] + list(sessions_begun_in(others, self._root))
        return sorted({file.session_id: file for file in found}.values(), key=lambda f: f.modified,
                      reverse=True)

    def latest(self, has_prompt: Callable[[SessionFile], bool] | None) -> SessionFile | None:
        first = None
        for file in self._in_order():
            first = first or file
            if has_prompt is None or has_prompt(file):
                return file
        return first

    def _in_order(self) -> Iterator[SessionFile]:
        yield from self._seen
        yield from sessions_begun_in(self._touched, self._root)
        # Shared sessions that nobody has continued come last.
        yield from sessions_begun_in(self._shared, self._root)

    def also_active(self, taken: SessionFile) -> SessionFile | None:
        recent = sessions_begun_in(self._touched, self._root, time.time() - _RECENT)
        return next((file for file in recent if file.path != taken.path), None)


def _has_prompt(file: SessionFile) -> bool:
    from rewind.transcript.place.boundary import find_boundary_by_user_prompts

    try:
        find_boundary_by_user_prompts(file.path, 1, file.profile)
    except (RewindError, OSError):
        return False
    return True


def _forks(state: State) -> list[KnownFork]:
    try:
        return state.forks().all
    except RewindError:
        return []


def capture_current(state: State, session: SessionFile | None = None,
                    end: int | None = None) -> tuple[Captured | None, str]:
    """Capture a conversation for a checkpoint: that of `session`, else of the current session, if any.
    Returns it and why it is left out: the code is saved even if the conversation cannot be read. What comes
    after `end` is not captured."""
    try:
        session = session or choose_session(state).session
        from rewind.checkpoint.conversations.stored import capture  # not before there is something to capture

        return capture(state, session.path, session.profile, end), ""
    except (SessionNotFound, TranscriptNotFound):
        return None, ""
    except StoreUnavailable:
        raise  # for example a full disk: the code could not be saved either
    except (RewindError, OSError) as error:
        return None, f"The conversation is left out: {error}"


def session_at(path: str, home: str) -> SessionFile:
    """A transcript that a person names by its path."""
    path = os.path.abspath(path)
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        raise TranscriptNotFound(path=path)
    return SessionFile(path, profile_for(path, None, home), info)


def _named(state: State, named: str) -> SessionFile:
    if os.sep in named or named.endswith(SUFFIX):
        return session_at(named, state.project.home)
    return _of_project(state, named)


def _of_project(state: State, text: str) -> SessionFile:
    """A session of this project by its id or the beginning of it. A whole id also finds a session that the
    agent has moved."""
    try:
        return find_session(project_sessions(state.area(), state.project.home), text)
    except SessionNotFound:
        found = moved_session(state, text)
        if found is None:
            raise
        return found


def moved_session(state: State, session_id: str) -> SessionFile | None:
    """A session whose transcript the agent has moved to another project's folder. It belongs to this project
    if it began here or hooks recorded it."""
    found = session_with_id(state.area(), session_id, state.project.home)
    recorded = None if found else recorded_session(state, session_id)
    return _recorded_file(state, recorded) if recorded else found


def _of_environment(state: State) -> SessionFile | None:
    environ = os.environ
    path = environ.get("REWIND_TRANSCRIPT_PATH")
    if path and path.endswith(SUFFIX):
        try:
            return session_at(path, state.project.home)
        except TranscriptNotFound:
            # The path was right when the session started.
            session = session_id_of(path, profile_for(path, None, state.project.home))
            moved = moved_session(state, session)
            if moved is None:
                raise
            return moved
    profile = profile_of_environment(environ, state.project.home)
    variable = profile.environment["session"] if profile else None
    wanted = environ.get("REWIND_SESSION_ID") or (environ.get(variable) if variable else None)
    if not wanted:
        return None
    try:
        return _of_project(state, wanted)
    except RewindError:
        return None  # the agent works in another project, or has not written anything yet


class SessionActivity:
    """Which sessions are open, and in which of them a turn is running. The clients are looked at once."""

    def __init__(self, state: State) -> None:
        # The latest entry of each session, which comes first.
        self._recorded = {entry.get("session_id"): entry for entry in reversed(recorded_sessions(state))}
        self._clients: dict[str, Clients] = {}  # by agent

    def of(self, file: SessionFile) -> tuple[bool, bool]:
        """(open, busy)"""
        clients, recorded = self._of_agent(file.profile), self._recorded.get(file.session_id)
        return (bool(clients.is_open(file.session_id, recorded)),
                clients.is_busy(file.session_id, recorded))

    def is_open(self, profile: Profile, session_id: str) -> bool:
        return bool(self._of_agent(profile).is_open(session_id, self._recorded.get(session_id)))

    def _of_agent(self, profile: Profile) -> Clients:
        if profile.name not in self._clients:
            from rewind.transcript.liveness import Clients

            self._clients[profile.name] = Clients(profile)
        return self._clients[profile.name]


def recorded_files(state: State) -> Iterator[SessionFile]:
    """The existing transcripts of the sessions that hooks recorded, the latest first."""
    found = (_recorded_file(state, entry) for entry in recorded_sessions(state))
    return (file for file in found if file)


def _recorded_file(state: State, entry: JsonObject) -> SessionFile | None:
    """The transcript at the recorded path, or where it was moved to."""
    path = entry["transcript_path"]
    profile = profile_named(str(entry.get("agent")), state.project.home)
    # The path came from a payload, so it is used only if it is where this agent keeps its sessions.
    if not is_under_root(profile, path):
        return None
    if os.path.isfile(path):
        return SessionFile(path, profile, os.stat(path))
    return session_anywhere(profile, session_id_of(path, profile), near=path)
