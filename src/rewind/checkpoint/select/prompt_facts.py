"""The number and the time of one prompt, without reading all of a long transcript."""

from __future__ import annotations

import os

from rewind.checkpoint.records.record import seconds_of
from rewind.transcript.turns.turn_index import open_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.conversations.bring_back import ConversationPlan
    from rewind.checkpoint.project.state import State
    from rewind.transcript.place.boundary import Prompt

_MOST = 32 << 20  # a longer transcript is not read for the number alone


def prompt_facts(state: State, left: ConversationPlan, prompt: Prompt) -> tuple[int | None, float | None]:
    """Of a prompt in the conversation that was left."""
    return _turn(state, left, prompt.uuid), seconds_of(prompt.stamp)


def _turn(state: State, left: ConversationPlan, uuid: str) -> int | None:
    if left.index is None and os.path.getsize(left.original) <= _MOST:
        open_turns(left.original, left.profile, state.derived)
    rows = state.derived.query("SELECT turn FROM turns WHERE path=? AND uuid=?", (left.original, uuid))
    return rows[0][0] if rows else None
