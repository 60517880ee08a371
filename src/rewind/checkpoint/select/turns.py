"""Selectors that look into conversations: turns by their number, and prompts by their text."""

from __future__ import annotations

import os

from rewind.checkpoint.conversations.which_session import choose_session
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.select.code_at import CodeAt, code_before, turn_code
from rewind.checkpoint.select.nearest import by_record, by_turn, nearest
from rewind.checkpoint.select.prompts import Found, one_line, search_prompts
from rewind.checkpoint.select.selected import Selected
from rewind.checkpoint.select.turn_name import TurnName, turn_name
from rewind.errors import (
    CheckpointNotFound,
    NothingBeforePrompt,
    NoTurnSays,
    PromptAmbiguous,
    SessionNotFound,
    TurnNotFound,
)
from rewind.transcript.find import SessionFile, project_sessions
from rewind.transcript.turns.turn_index import open_turns
from rewind.transcript.turns.turn_tree import Row

_SHORTEST_TEXT = 3
_MOST = 3


def checkpoint_of_turn(state: State, text: str) -> Selected | None:
    name = turn_name(text)
    if name is None:
        return None
    session, row = _turn(state, name, text)
    before, after = turn_code(state, session, row.turn or 0, row.offset)
    if before is None:
        raise NothingBeforePrompt(hint="To see the checkpoints: rewind list")
    if not name.after:
        return _before(before, name.turn)
    if after is None:
        error = CheckpointNotFound(name=text,
                                   hint=f"Turn {name.turn} has not ended, or its end was not captured.")
        raise error.near_to(text, [(text[:-1], "before it"), ("last", "the newest checkpoint")])
    return Selected(after)


def _before(code: CodeAt, turn: int | None) -> Selected:
    if code.exact:
        return Selected(code.record)
    whose = f"turn {turn}" if turn else "that prompt"
    return Selected(code.record, f"No checkpoint was made right before {whose}. This is the last one before"
                                 f" it: {code.record.name}")


def turn_named(state: State, text: str) -> tuple[SessionFile, int] | None:
    name = turn_name(text)
    if name is None:
        return None
    session, row = _turn(state, name, text)
    return session, row.turn or 0


def _turn(state: State, name: TurnName, text: str) -> tuple[SessionFile, Row]:
    session = choose_session(state, name.session, with_prompt=True).session
    index = open_turns(session.path, session.profile, state.derived)
    rows = index.turns(name.turn, name.turn)
    if rows:
        return session, rows[0]
    error = TurnNotFound(turn=name.turn, total=index.total,
                         hint=f"Run `rewind sessions show {session.session_id[:8]}` to see its turns.")
    first = max(1, index.total - _MOST + 1) if name.turn else 1
    prefix = f"{name.session}:" if name.session else ""
    rows = index.turns(first, first + _MOST - 1)
    raise error.near_to(text, by_turn(rows, prefix, "+" if name.after else ""))


# by text

def checkpoint_saying(state: State, text: str) -> Selected:
    """The checkpoint before the only prompt with this text, or the only one with this description."""
    described = _described(state, text)
    exact = [r for r in described if _same(r.description, text)]
    if len(exact) == 1:
        return Selected(exact[0])
    prompts = _prompts(state, text)
    same = [one for one in prompts if _same(one.prompt, text)]
    prompts, described = (same, []) if len(same) == 1 else (prompts, described)
    if len(prompts) == 1 and not described:
        return _before_prompt(state, prompts[0])
    if len(described) == 1 and not prompts:
        return Selected(described[0])
    if not prompts and not described:
        raise CheckpointNotFound(name=text).near_to(text, nearest(state, text))
    ambiguous = PromptAmbiguous(text=text, count=len(prompts) + len(described))
    raise ambiguous.near_to(text, [*_ways(state, prompts[:_MOST]), *by_record(described[:_MOST])][:_MOST])


def turn_saying(state: State, text: str) -> tuple[SessionFile, int]:
    found = [one for one in _prompts(state, text) if one.turn]
    same = [one for one in found if _same(one.prompt, text)]
    found = same if len(same) == 1 else found
    if len(found) == 1:
        return found[0].session, found[0].turn or 0
    if found:
        raise PromptAmbiguous(text=text, count=len(found)).near_to(text, _ways(state, found[:_MOST]))
    raise NoTurnSays(text=text)


def _same(one: str, other: str) -> bool:
    return one_line(one).casefold() == one_line(other).casefold()


def _prompts(state: State, text: str) -> list[Found]:
    """Prompts with this text, the latest first. Each once, because a fork contains its parent's prompts."""
    if len(text.strip()) < _SHORTEST_TEXT or _is_path(state, text):
        return []
    sessions = project_sessions(state.project.root, home=state.project.home)
    found: dict[object, Found] = {}
    for one in search_prompts(state, sessions, text, any_case=True):
        found.setdefault(one.uuid or (one.session.session_id, one.offset), one)
    return list(found.values())


def _is_path(state: State, text: str) -> bool:
    """Whether it is probably a path without `--` and not a text of a prompt, as in `rewind restore src`."""
    return " " not in text and os.path.lexists(os.path.join(state.project.root, text))


def _described(state: State, text: str) -> list[Record]:
    """Checkpoints that a person described with this text, the newest first."""
    if len(text.strip()) < _SHORTEST_TEXT or _is_path(state, text):
        return []
    wanted = one_line(text).casefold()
    return [r for r in state.timeline.shown() if r.kind != "auto" and r.place == state.place
            and wanted in one_line(r.description).casefold()]


def _before_prompt(state: State, found: Found) -> Selected:
    code = code_before(state, found.session, found.offset)
    if code is None:
        raise NothingBeforePrompt()
    return _before(code, found.turn)


def _ways(state: State, found: list[Found]) -> list[tuple[str, str]]:
    """For each of these prompts, a selector that names only that one."""
    try:
        own = choose_session(state, with_prompt=True).session.session_id
    except SessionNotFound:
        own = ""
    ways = []
    for one in found:
        mine = one.session.session_id == own
        if one.turn:
            ways.append((f"t{one.turn}" if mine else f"{one.session.session_id[:8]}:t{one.turn}", one.prompt))
            continue
        code = code_before(state, one.session, one.offset)
        ways += [(str(code.record.sequence), one.prompt)] if code else []
    return ways


