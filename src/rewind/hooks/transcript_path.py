"""Where the transcript of an event's session is: as the payload says, unless it is not there."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from rewind.hooks.event import HookEvent


def transcript_path(event: HookEvent, environ: Mapping[str, str] | None = None) -> str:
    """Looked for once in the life of a hook."""
    if event.found is None:
        event.found = _find(event, environ)
    return event.found


def own_transcript(event: HookEvent) -> str:
    """The same, if it lies where this agent keeps its sessions."""
    from rewind.agents.registry import is_under_root

    path = transcript_path(event)
    return path if path and is_under_root(event.profile, path) else ""


def _find(event: HookEvent, environ: Mapping[str, str] | None) -> str:
    """When Claude Code 2.1.325 resumes a session of another directory, SessionStart names a path in this
    one's folder, and no file ever appears there: the session is looked up by its id. A new session has no
    file yet; then the payload is right."""
    path = event.transcript
    if event.subagent and path:
        path = _of_parent(event, environ)
    if path and event.session and (event.profile.sessions or {}).get("mark"):
        return _fullest(event, environ)
    if not path or os.path.exists(path):
        return path
    from rewind.agents.registry import is_under_root
    from rewind.transcript.find import session_anywhere
    from rewind.transcript.names import session_id_of

    if not is_under_root(event.profile, path, environ):
        return path
    found = session_anywhere(event.profile, session_id_of(path, event.profile), environ, near=path)
    return found.path if found else path


def _fullest(event: HookEvent, environ: Mapping[str, str] | None) -> str:
    """Gemini CLI 0.61 begins a second file when it resumes a session, names that one at SessionStart, and
    goes on in the first one. The longest of the session's files is the conversation."""
    from rewind.transcript.find import session_anywhere

    found = session_anywhere(event.profile, event.session, environ, near=event.transcript)
    return found.path if found else event.transcript


def _of_parent(event: HookEvent, environ: Mapping[str, str] | None) -> str:
    """A subagent's event belongs to the session that started it. Codex 0.166 names that one's id, but the
    subagent's own file."""
    from rewind.transcript.names import session_id_of

    path = event.transcript
    if not event.session or session_id_of(path, event.profile) == event.session:
        return path
    from rewind.transcript.find import session_anywhere

    found = session_anywhere(event.profile, event.session, environ, near=path)
    return found.path if found else ""
