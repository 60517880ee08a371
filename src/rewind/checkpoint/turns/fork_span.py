"""What a whole fork changed: from the code at the place where it began to the code that it has now."""

from __future__ import annotations

from rewind.checkpoint.conversations.session_tree import session_infos, shared_turns
from rewind.checkpoint.project.state import State
from rewind.checkpoint.turns.spans import SessionTurns, Span
from rewind.errors import ForkWithoutTurns, SessionNotForked, TurnWithoutCheckpoint
from rewind.transcript.find import find_session


def fork_span(state: State, text: str) -> Span:
    """A fork by its id or the beginning of it, whoever made it."""
    infos = session_infos(state)
    file = find_session([info.file for info in infos], text)
    info = next(one for one in infos if one.file is file)
    parent = next((one for one in infos if one.session_id == info.parent), None)
    if not info.parent:
        raise SessionNotForked(session=info.session_id)
    shared = shared_turns(info, parent) if parent else info.rewind_from_turn or 0
    turns = SessionTurns(state, info.file)
    if shared >= turns.total:
        raise ForkWithoutTurns(session=info.session_id)
    first, last = turns.span(shared + 1), turns.span(turns.total)
    if last.after is None:
        raise TurnWithoutCheckpoint(turn=turns.total, session=info.session_id)
    return Span(first.before, last.after, f"fork {info.session_id[:8]}", session=info.session_id,
                prompt=info.name, exact=first.exact)

