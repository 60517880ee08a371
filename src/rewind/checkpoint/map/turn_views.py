"""A page of turns: what was said, the code at that time, what changed, and whether one can go back to it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.checkpoint.changes.turn_changes import Unpacked, changes_between
from rewind.checkpoint.conversations.recorded_sessions import recorded_session
from rewind.checkpoint.project.state import State
from rewind.checkpoint.select.code_at import CodeAt, SessionCode, prompt_of
from rewind.transcript.find import SessionFile
from rewind.transcript.liveness import is_busy
from rewind.transcript.turns.turn_blocks import Limits, TurnText, for_page
from rewind.transcript.turns.turn_index import TurnIndex, open_turns
from rewind.transcript.turns.turn_pages import read_turns

if TYPE_CHECKING:
    from rewind.checkpoint.changes.turn_changes import TurnChanges

_MOST_MISSING = 20


class TurnView:
    """`code` is what rewinding to this turn restores: the code before the next prompt."""

    def __init__(self, text: TurnText) -> None:
        self.text = text
        self.code: CodeAt | None = None
        self.changes: TurnChanges | None = None
        self.reason = ""  # why one cannot go back here
        self.missing: list[str] = []  # files that its tools touched and that do not exist now


class TurnPage:
    def __init__(self, session: SessionFile, total: int, first: int, turns: list[TurnView]) -> None:
        self.session = session
        self.total = total
        self.first = first
        self.turns = turns


def read_page(state: State, session: SessionFile, start: int, count: int,
              limits: Limits | None = None) -> TurnPage:
    """`count` turns from number `start`; a negative `start` counts from the end."""
    index = open_turns(session.path, session.profile, state.derived)
    first = max(1, index.total + 1 + start if start < 0 else start)
    texts = read_turns(index, first, first + count - 1, limits or for_page())
    views = [TurnView(text) for text in texts]
    if views:
        _add_code(state, session, index, views)
        _add_reasons(state, session, index, views)
        for view in views:
            view.missing = _missing(state.project.root, view.text.files)
    return TurnPage(session, index.total, first, views)


def _add_code(state: State, session: SessionFile, index: TurnIndex, views: list[TurnView]) -> None:
    codes = SessionCode(state, session)
    last = views[-1].text
    number = last.row.turn or 0
    after = read_turns(index, number + 1, number + 1, Limits(0, 0, 0))
    befores = [codes.before(prompt_of(view.text)) for view in views]
    befores.append(codes.before(prompt_of(after[0])) if after else codes.after_last(prompt_of(last)))
    with Unpacked(state) as unpacked:
        for view, old, new in reversed(list(zip(views, befores, befores[1:]))):  # the latest matter most
            view.code = new
            left = codes.end_of_turn(old, new) if old else None
            if old and left and (old.record.name != left.name or (new and old.exact and new.exact)):
                found = changes_between(state, old.record, left, unpacked)
                view.changes = {**found, "from": old.record.name, "to": left.name} if found else None


def _add_reasons(state: State, session: SessionFile, index: TurnIndex, views: list[TurnView]) -> None:
    profile = session.profile
    if is_busy(profile, session.session_id, recorded_session(state, session.session_id)):
        for view in views:
            view.reason = f"{profile.title} is in the middle of a turn here. Wait until it is done."
    elif profile.compaction and not profile.compaction["resumable"]:
        latest = index.compactions[-1] if index.compactions else -1
        for view in views:
            if view.text.row.offset < latest:
                view.reason = f"{profile.title} cannot continue from a turn before a compaction."


def _missing(root: str, files: list[str]) -> list[str]:
    inside = root.rstrip("/") + "/"
    gone = [path[len(inside):] for path in files if path.startswith(inside) and not os.path.lexists(path)]
    return gone[:_MOST_MISSING]
