"""From a branch back to the session that it came from, with the code as it was before the branch was made."""

from __future__ import annotations

from rewind.checkpoint import restore as going_back
from rewind.checkpoint.put_aside import code_put_aside
from rewind.errors import RewindError

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    """The branch itself stays. The code is that of the backup made then, as far as it is not back already;
    what is there now is backed up first as always. The caller holds the lock."""
    if not info.parent:
        raise NoParent(session=info.session_id)
    result = Forwarded(info.parent)
    if not code:
        return result
    backup = code_put_aside(state).get(info.session_id)
    if not backup:
        result.notes.append("The code stays as it is: making this branch left it alone, or that was undone.")
        return result
    record = state.timeline.find(backup)
    result.code = going_back.restore(state, record, action="restore", position=record.sequence)
    return result
