"""An overview of a session: what each turn changed and how it went, manual checkpoints, and the turn that the
files are at. It only uses checkpoints made for these turns; a page of turns (`turn_views.py`) may guess."""

from __future__ import annotations

import time
from bisect import bisect_right
from typing import TYPE_CHECKING

from rewind.checkpoint.changes.turn_changes import changes_between
from rewind.checkpoint.operation_log.lineage import here
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record, seconds_of, session_of
from rewind.checkpoint.select.code_at import CodeAt, PromptAt, SessionCode, session_and_ancestors
from rewind.transcript.find import SessionFile
from rewind.transcript.turns.turn_figures import TurnFigures, read_figures
from rewind.transcript.turns.turn_index import open_turns
from rewind.transcript.turns.turn_tree import Row

if TYPE_CHECKING:
    from rewind.checkpoint.changes.turn_changes import Changes


class TurnShape:
    def __init__(self, row: Row, figures: TurnFigures) -> None:
        self.row = row
        self.seconds = seconds_between(row.stamp, figures.ended)
        self.failures = figures.failures
        self.compacted_before = False
        self.changes: Changes | None = None
        self.before = self.after = ""  # the checkpoints around it
        self.saved: list[Record] = []  # by a person, since this turn began
        self.edited = False  # files were changed between its end and the next prompt


class SessionShape:
    """`here` is the turn after which the files are as they are now: 0 before the first, None if they are not
    from this session."""

    def __init__(self, total: int, turns: list[TurnShape]) -> None:
        self.total = total
        self.turns = turns
        self.here: int | None = None
        self.complete = True  # all changes were counted


def seconds_between(start: object, end: object) -> float | None:
    began, ended = seconds_of(start), seconds_of(end)
    return None if began is None or ended is None else max(0.0, ended - began)


def read_shape(state: State, session: SessionFile, known: dict[int, TurnFigures],
               patience: float) -> SessionShape:
    """Changes that are not counted after `patience` seconds are counted at the next call."""
    index = open_turns(session.path, session.profile, state.derived)
    rows = index.turns(1, index.total)
    figures = read_figures(index, rows, known)
    turns = [TurnShape(row, one) for row, one in zip(rows, figures)]
    shape = SessionShape(index.total, turns)
    last = -1
    for turn in turns:
        turn.compacted_before = index.is_compacted_between(last, turn.row.offset)
        last = turn.row.offset
    if turns:
        _add_code(state, SessionCode(state, session), shape, figures, time.monotonic() + patience)
    return shape


def _add_code(state: State, codes: SessionCode, shape: SessionShape, figures: list[TurnFigures],
              until: float) -> None:
    prompts = [PromptAt(one.offset, one.join, None, None) for one in figures]
    codes_before: list[CodeAt | None] = [codes.recorded(prompt) for prompt in prompts]
    after = [*codes_before[1:], codes.after_last(prompts[-1])]
    ends: dict[object, Record] = {record.trigger.get("promptId"): record for record in codes.records
                                   if record.trigger.get("event") == "Stop"}
    for turn, prompt, old, new in reversed(list(zip(shape.turns, prompts, codes_before, after))):
        end = ends.get(prompt.join) if prompt.join else None
        turn.edited = bool(end and new and end.sequence < new.record.sequence and end.tree != new.record.tree)
        left = codes.end_of_turn(old, new) if old else None
        if old is None or left is None:
            continue
        turn.before, turn.after = old.record.name, left.name
        if time.monotonic() < until or old.record.tree == left.tree:
            turn.changes = changes_between(state, old.record, left)
        else:
            shape.complete = False
    _add_marks(state, codes, shape, codes_before)


def _add_marks(state: State, codes: SessionCode, shape: SessionShape, befores: list[CodeAt | None]) -> None:
    known = [(code.record.sequence, turn) for turn, code in zip(shape.turns, befores) if code]
    sequences = [sequence for sequence, _ in known]
    for record in codes.records:
        at = bisect_right(sequences, record.sequence)
        if record.kind == "manual" and at and session_of(record) in (None, codes.session.session_id):
            known[at - 1][1].saved.append(record)
    stands = here(state)
    at = bisect_right(sequences, stands.sequence) if stands else 0
    if not stands or not at or session_of(stands) not in session_and_ancestors(
            state, codes.session.session_id):
        return
    number = known[at - 1][1].row.turn or 0
    shape.here = number - 1 if sequences[at - 1] == stands.sequence else number
