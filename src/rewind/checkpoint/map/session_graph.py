"""Where an agent's own rewinds branch off in a conversation, and the turn that the files are at.

`session_tree.py` says which session is a fork of which.
"""

from __future__ import annotations

from rewind.checkpoint.conversations.session_tree import SessionInfo
from rewind.checkpoint.map.facts import add_turns
from rewind.checkpoint.map.turn_map import TURN, MapRow, turn_map
from rewind.checkpoint.project.state import State
from rewind.errors import RewindError
from rewind.transcript.find import SessionFile
from rewind.transcript.turns.turn_index import TurnIndex, open_turns
from rewind.transcript.turns.turn_tree import Row


class NativeRewind:
    """A rewind by the agent itself: it went on after `turn` (0: at the start) and left some turns behind."""

    def __init__(self, turn: int, first: Row, left: int) -> None:
        self.turn = turn
        self.first = first  # the first prompt that it left behind
        self.left = left


def native_rewinds(state: State, infos: list[SessionInfo]) -> dict[str, list[NativeRewind]]:
    """By session; empty for one that cannot be read."""
    found = {}
    for info in infos:
        try:
            found[info.session_id] = _of(open_turns(info.file.path, info.file.profile, state.derived))
        except (RewindError, OSError):
            found[info.session_id] = []  # deleted since it was found
    return found


def _of(index: TurnIndex) -> list[NativeRewind]:
    left = index.abandoned(0, index.size)
    if not left:
        return []
    numbers = {row.number: row.turn or 0 for row in index.turns(1, index.total)}
    found: list[NativeRewind] = []
    branch: dict[int, NativeRewind] = {}  # a prompt that was left -> the rewind that left it
    for row in sorted(left, key=lambda one: one.number):
        known = branch.get(row.parent)
        if known is None:
            known = NativeRewind(numbers.get(row.parent, 0), row, 0)
            found.append(known)
        known.left += 1
        branch[row.number] = known
    return found


def turn_of_current_code(state: State, infos: list[SessionInfo]) -> tuple[str, int] | None:
    """The session, and the turn after which the files are as they are now."""
    files = {info.session_id: info.file for info in infos}
    row = next((one for one in turn_map(state) if one.here), None)
    while row:  # edits by hand and operations count to the turn before them
        file = files.get(row.session or "")
        found = _turn(state, row, file) if file else None
        if found and row.session:
            return row.session, found
        row = row.parent
    return None


def _turn(state: State, row: MapRow, file: SessionFile) -> int | None:
    if row.kind != TURN or not row.before:
        return None
    add_turns(state, [row])
    if row.turn or row.abandoned:
        return row.turn
    index, cursor = open_turns(file.path, file.profile, state.derived), row.before.cursor
    # The prompt after the place at which the transcript ended when the checkpoint was made.
    return next((turn.turn for turn in index.turns(1, index.total) if turn.offset >= cursor), None)
