"""Figures of turns that do not need the whole file to be parsed: when a turn ended, how many tools failed."""

from __future__ import annotations

import re
from typing import BinaryIO

from rewind.agents.profile import pick
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.entries import ASSISTANT, entry_of
from rewind.transcript.read.lines import parse, read_at
from rewind.transcript.turns.turn_index import TurnIndex
from rewind.transcript.turns.turn_tree import Row

# The quote has no backslash before it: a tool that only prints this text has not failed.
_FAILED = re.compile(rb'(?<!\\)"is_?[eE]rror"\s*:\s*true')
_LAST_LINES = 60  # how many lines at the end of a turn are searched for its last answer


class TurnFigures:
    """`join` is the key that a checkpoint of the prompt has recorded, `ended` the time of the last answer."""

    __slots__ = ("end", "ended", "failures", "join", "offset")

    def __init__(self, offset: int, end: int) -> None:
        self.offset = offset
        self.end = end
        self.join: object = None
        self.ended = ""
        self.failures = 0


def read_figures(index: TurnIndex, rows: list[Row], known: dict[int, TurnFigures]) -> list[TurnFigures]:
    """The figures of these consecutive turns. Those in `known` that have not grown are not read again."""
    ends = [*(row.offset for row in rows[1:]), index.size]
    found = []
    with open_conversation(index.path, index.profile) as file:
        for row, end in zip(rows, ends):
            one = known.get(row.offset)
            if one is None or one.end != end:
                one = known[row.offset] = _read(file, index, row.offset, end)
            found.append(one)
    return found


def _read(file: BinaryIO, index: TurnIndex, offset: int, end: int) -> TurnFigures:
    found = TurnFigures(offset, end)
    data = read_at(file, offset, end - offset)
    found.failures = len(_FAILED.findall(data))
    lines = data.splitlines(keepends=True)
    key = index.profile.prompt["joinKey"]
    for event in parse(offset, lines[0])[:1] if lines and key else ():
        found.join = pick(event.data, key)
    last = lines[:-_LAST_LINES - 1:-1]
    found.ended = next((stamp for raw in last for stamp in _answer_times(index, raw)), "")
    return found


def _answer_times(index: TurnIndex, raw: bytes) -> list[str]:
    """When this line was written, if it is an answer; else nothing."""
    entries = ((event, entry_of(event, index.profile)) for event in parse(0, raw))
    stamps = (pick(event.data, index.profile.lines.get("timestamp")) for event, entry in entries
              if entry and entry.role == ASSISTANT and entry.is_main)
    return [stamp for stamp in stamps if isinstance(stamp, str)]
