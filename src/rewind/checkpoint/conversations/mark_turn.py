"""A turn marked by a name: its checkpoint gets the name, and is kept from then on."""

from __future__ import annotations

from rewind.checkpoint.map.turn_views import read_page
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.save.save import save
from rewind.errors import NoCheckpointOfTurn, RewindError, TurnNotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.project.state import State
    from rewind.transcript.find import SessionFile

_LONGEST_NAME = 200


def mark_turn(state: State, session: SessionFile, turn: int, name: str) -> Record:
    name = " ".join(name.split())
    if not name or len(name) > _LONGEST_NAME:
        raise RewindError(f"A name must have 1 to {_LONGEST_NAME} characters.", hint="Choose another one.")
    page = read_page(state, session, turn, 1)
    if turn < 1 or not page.turns:
        raise TurnNotFound(turn=turn, total=page.total)
    if turn == page.total:
        return save(state, name, session=session).record
    code = page.turns[0].code
    if code is None or not code.exact:
        raise NoCheckpointOfTurn(turn=turn)
    with state.locked("mark"):
        return _named(state, code.record.name, name)


def _named(state: State, checkpoint: str, name: str) -> Record:
    """A manual checkpoint is never collected."""
    found = state.files.read(checkpoint)
    data = {**found.data, "description": name,
            "kind": "manual" if found.kind == "auto" else found.kind}
    record = Record(data)
    state.files.write(record)
    state.timeline.add(record)
    return record
