"""From a branch back to the session that it came from, with the code as it was before the branch was made."""

from __future__ import annotations

from rewind.checkpoint import restore as going_back
from rewind.errors import RewindError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.checkpoint.restore import Restored
    from rewind.checkpoint.session_tree import SessionInfo
    from rewind.checkpoint.state import State


class NoParent(RewindError):
    """This session is not a branch of another one, so there is nothing to go forward to: {session}"""

    hint = "Choose a branch."


class Forwarded:
    def __init__(self, parent: str) -> None:
        self.parent = parent
        self.code: Restored | None = None
        self.notes: list[str] = []


def fast_forward(state: State, info: SessionInfo, *, code: bool) -> Forwarded:
    """The branch itself stays. The code is that of the backup made then, and is backed up first as always.
    The caller holds the lock."""
    if not info.parent:
        raise NoParent(session=info.session_id)
    result = Forwarded(info.parent)
    if not code:
        return result
    backup = _backup_of(state, info.session_id)
    if not backup:
        result.notes.append("Making this branch did not change the code, so it stays as it is.")
        return result
    record = state.timeline.find(backup)
    result.code = going_back.restore(state, record, action="restore", position=record.sequence)
    return result


def _backup_of(state: State, session_id: str) -> str:
    """The state of the code right before the step that made this branch."""
    for entry in reversed(state.history().entries):
        fork: Any = entry.get("fork")
        if isinstance(fork, dict) and fork.get("sessionId") == session_id:
            return str(entry.get("backup_checkpoint") or "")
    return ""
