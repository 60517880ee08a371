"""Checkpoints that something other than Rewind removed, as `find . -name checkpoints -exec rm -rf {} +` does
in a project that holds its own checkpoints. The newest one that was made is noted, and found to be
missing."""

from __future__ import annotations

from rewind.checkpoint.records.timeline import NEWEST
from rewind.errors import RewindError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.project.state import State

_VANISHED = "vanished"  # a fact in `scan-cache.db`


def vanished(state: State) -> str:
    """The name of a checkpoint that was made here and is gone although no collection deleted it; or
    nothing."""
    noted = _fact(state, _VANISHED)
    return noted or _gone(state)


def note_vanished(state: State) -> None:
    """Called before the next checkpoint is made, which would hide that one is missing."""
    gone = _gone(state)
    if gone:
        state.derived.write([("INSERT OR REPLACE INTO facts VALUES(?, ?)", [(_VANISHED, gone)])])


def _gone(state: State) -> str:
    name = _fact(state, NEWEST)
    if not name or state.files.is_reserved(name):
        return ""
    try:
        return name if name > state.objects.last_deleted() else ""
    except RewindError:
        return ""  # the store itself is damaged, which is reported


def _fact(state: State, key: str) -> str:
    rows = state.derived.query("SELECT value FROM facts WHERE key=?", (key,))
    return rows[0][0] if rows and isinstance(rows[0][0], str) else ""
