"""A turn marked by a name: its checkpoint gets the name, and is kept from then on."""

from __future__ import annotations

from rewind.checkpoint.conversations.forks import checked_name
from rewind.checkpoint.map.turn_views import read_page
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.change_record import changed
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.save.save import save
from rewind.errors import NoCheckpointOfTurn, TurnNotFound
from rewind.transcript.find import SessionFile


def mark_turn(state: State, session: SessionFile, turn: int, name: str) -> Record:
    name = checked_name(name)
    page = read_page(state, session, turn, 1)
    if turn < 1 or not page.turns:
        raise TurnNotFound(turn=turn, total=page.total)
    if turn == page.total:
        return save(state, name, session=session).record
    code = page.turns[0].code
    if code is None or not code.exact:
        raise NoCheckpointOfTurn(turn=turn)
    kind = "manual" if code.record.kind == "auto" else code.record.kind  # never collected
    return changed(state, code.record.name, "mark", {"description": name, "kind": kind})
