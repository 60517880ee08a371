"""A client that switches to another session updates its register a moment later, and then writes a last line
to the session that it left."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from rewind.agents.registry import profile_for
from rewind.checkpoint.project.state import State
from rewind.transcript.liveness import is_open

_PATIENCE = 3.0  # seconds
# Claude Code 2.1.325 writes the line up to 0.1 seconds after it has updated its register. If the file is gone
# by then, it creates it again.
_LAST_LINE = 0.5  # seconds


def wait_until_left(state: State, session: str) -> None:
    """If the last step made this session, wait until no client has it open and the client that left has
    written its last line. Otherwise undoing that step would keep the session, or its file would come back.

    If another client has it open, this gives up after a while, and the session is kept.
    """
    steps = state.operations().undoable()
    made = [effect for effect in (steps[-1].effects if steps else [])
            if effect.get("kind") == "fork" and effect.get("sessionId") == session]
    if not made:
        return
    path = str(made[0].get("path"))
    profile = profile_for(path)
    if _wait_while(lambda: bool(is_open(profile, session)), _PATIENCE):
        size = _size(path)
        _wait_while(lambda: _size(path) == size, _LAST_LINE)


def _wait_while(holds: Callable[[], bool], seconds: float) -> bool:
    """Returns whether it ended in time."""
    end = time.monotonic() + seconds
    while holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
