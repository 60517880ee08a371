"""The number and the time of one prompt, without reading all of a long transcript."""

from __future__ import annotations

from rewind.agents.profile import pick
from rewind.checkpoint.records.record import is_timestamp, timestamp
from rewind.transcript.read.lines import events_forward, open_conversation
from rewind.transcript.turns.turn_index import open_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.project.state import State
    from rewind.transcript.find import SessionFile

_MOST = 32 << 20  # a longer transcript is not read for the number alone


def prompt_facts(state: State, session: SessionFile, offset: int,
                 uuid: str) -> tuple[int | None, float | None]:
    with open_conversation(session.path, session.profile) as file:
        event = next(events_forward(file, offset), None)
    stamp = session.profile.lines.get("timestamp")
    told = pick(event.data, stamp) if event and stamp else None
    at = timestamp(told) if isinstance(told, str) and is_timestamp(told) else None
    return _turn(state, session, uuid), at


def _turn(state: State, session: SessionFile, uuid: str) -> int | None:
    if session.size <= _MOST:
        open_turns(session.path, session.profile, state.derived)
    rows = state.derived.query("SELECT turn FROM turns WHERE path=? AND uuid=?", (session.path, uuid))
    return rows[0][0] if rows else None
