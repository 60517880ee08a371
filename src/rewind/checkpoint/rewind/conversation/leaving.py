"""A client that has just switched to another session says so in its register a moment later."""

from __future__ import annotations

import time

from rewind.agents.registry import profile_for
from rewind.checkpoint.project.state import State
from rewind.transcript.liveness import is_open

_PATIENCE = 3.0  # seconds


def wait_until_left(state: State, session: str) -> None:
    """If the last step made this session, until no client has it open; else undoing that step would keep it.

    Another client may have it open, too. Then it is kept, after a while.
    """
    steps = state.operations().undoable()
    made = [effect for effect in (steps[-1].effects if steps else [])
            if effect.get("kind") == "fork" and effect.get("sessionId") == session]
    end = time.monotonic() + _PATIENCE
    while made and is_open(profile_for(str(made[0].get("path"))), session) and time.monotonic() < end:
        time.sleep(0.02)
