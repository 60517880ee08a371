"""Compares two branches: what they share, how each goes on, and how their code differs."""

from __future__ import annotations

from rewind.checkpoint.conversations.session_tree import SessionInfo, shared_turns
from rewind.checkpoint.map.turn_views import TurnPage, read_page
from rewind.checkpoint.operation_log.fork_code import began_at
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.records.source import Source, between
from rewind.checkpoint.select.code_at import SessionCode, prompt_of
from rewind.errors import CheckpointNotFound
from rewind.transcript.turns.turn_blocks import Limits
from rewind.transcript.turns.turn_index import open_turns
from rewind.transcript.turns.turn_pages import read_turns

_SHOWN = 50


class Compared:
    """`changes` are (path, exists in `a`, exists in `b`) of the paths that differ; None if unknown."""

    def __init__(self, common: int, a: TurnPage, b: TurnPage) -> None:
        self.common = common
        self.a = a
        self.b = b
        self.code_a: Record | None = None
        self.code_b: Record | None = None
        self.changes: list[tuple[bytes, bool, bool]] | None = None


def compare_sessions(state: State, a: SessionInfo, b: SessionInfo) -> Compared:
    common = shared_turns(a, b)
    found = Compared(common, read_page(state, a.file, common + 1, _SHOWN),
                     read_page(state, b.file, common + 1, _SHOWN))
    found.code_a, found.code_b = _last_code(state, a), _last_code(state, b)
    if found.code_a and found.code_b:
        with Source(state, found.code_a) as old, Source(state, found.code_b) as new:
            found.changes = [(path, was is not None, now is not None) for path, was, now in between(old, new)]
    return found


def _last_code(state: State, info: SessionInfo) -> Record | None:
    """The code at the end of the session. For a branch without turns of its own, the code where it began."""
    codes = SessionCode(state, info.file)
    index = open_turns(info.file.path, info.file.profile, state.derived)
    last = read_turns(index, index.total, index.total, Limits(0, 0, 0))
    after = codes.after_last(prompt_of(last[0])) if last else None
    if after:
        return after.record
    return codes.newest() or _where_it_began(state, info)


def _where_it_began(state: State, info: SessionInfo) -> Record | None:
    """The code that was restored when this branch was made."""
    name = began_at(state, info.session_id)
    try:
        return state.files.read(name) if name else None
    except CheckpointNotFound:
        return None  # collected since
