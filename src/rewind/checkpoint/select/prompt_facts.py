"""The number and the time of one prompt, without reading all of a long transcript."""

from __future__ import annotations

import os

from rewind.checkpoint.records.record import is_timestamp, timestamp
from rewind.transcript.turns.turn_index import open_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.agents.profile import Profile
    from rewind.checkpoint.project.state import State
    from rewind.transcript.place.boundary import Prompt

_MOST = 32 << 20  # a longer transcript is not read for the number alone


def prompt_facts(state: State, path: str, profile: Profile,
                 prompt: Prompt) -> tuple[int | None, float | None]:
    told = prompt.stamp
    at = timestamp(told) if isinstance(told, str) and is_timestamp(told) else None
    return _turn(state, path, profile, prompt.uuid), at


def _turn(state: State, path: str, profile: Profile, uuid: str) -> int | None:
    if os.path.getsize(path) <= _MOST:
        open_turns(path, profile, state.derived)
    rows = state.derived.query("SELECT turn FROM turns WHERE path=? AND uuid=?", (path, uuid))
    return rows[0][0] if rows else None
