"""Where the transcript of an event's session is: where the payload says, or where the session is found."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from rewind.hooks.event import HookEvent


def transcript_path(event: HookEvent, environ: Mapping[str, str] | None = None) -> str:
    """A hook looks for it once."""
    if event.found is None:
        event.found = _find(event, environ)
    return event.found


def own_transcript(event: HookEvent) -> str:
    """The same, or empty if it is not where this agent keeps its sessions."""
    from rewind.agents.registry import is_under_root

    path = transcript_path(event)
    return path if path and is_under_root(event.profile, path) else ""


def _find(event: HookEvent, environ: Mapping[str, str] | None) -> str:
    path, session = event.transcript, event.session
    if path and session and event.subagent and _session_id(path, event) != session:
        # A subagent's event belongs to the session that started it. Codex 0.166 names the id of that session,
        # but the subagent's own file.
        path = _by_id(session, event, environ)
    if path and session and (event.profile.sessions or {}).get("mark"):
        # Gemini CLI 0.61 begins a second file when it resumes a session, names this one at SessionStart, and
        # continues in the first one. The longest of the session's files is the conversation.
        return _by_id(session, event, environ) or event.transcript
    if not path or os.path.exists(path):
        return path
    from rewind.agents.registry import is_under_root

    # When Claude Code 2.1.325 resumes a session of another directory, SessionStart names a path in the folder
    # of this one, where no file ever appears. A new session has no file yet; then the payload is right.
    if not is_under_root(event.profile, path, environ):
        return path
    return _by_id(_session_id(path, event), event, environ) or path


def _session_id(path: str, event: HookEvent) -> str:
    from rewind.transcript.names import session_id_of

    return session_id_of(path, event.profile)


def _by_id(session: str, event: HookEvent, environ: Mapping[str, str] | None) -> str:
    from rewind.transcript.find import session_anywhere

    found = session_anywhere(event.profile, session, environ, near=event.transcript)
    return found.path if found else ""
