"""Reads whole turns by number, from where the index says that they begin, and searches in them."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import BinaryIO

from rewind.transcript.find import where_began
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.entries import Entry, entry_of
from rewind.transcript.read.lines import Event, lines_forward, parse, read_at
from rewind.transcript.read.prompts import blocks_of
from rewind.transcript.turns.tool_calls import may_have_started
from rewind.transcript.turns.turn_blocks import Limits, TurnText
from rewind.transcript.turns.turn_index import TurnIndex
from rewind.transcript.turns.turn_tree import Row

MOST_MATCHES = 200
_AROUND = 60
_BLOCK = 4 << 20
_SEARCHED = 64 << 20  # how many bytes of later turns are searched for a warning


class Match:
    """`block` is the number of the turn's block; None for the prompt."""

    def __init__(self, turn: int, where: str, snippet: str, block: int | None) -> None:
        self.turn = turn
        self.block = block
        self.where = where
        self.snippet = snippet


def read_turns(index: TurnIndex, first: int, last: int, limits: Limits) -> list[TurnText]:
    """Those of the turns `first` to `last` that exist."""
    first, last = max(1, first), min(last, index.total)
    if first > last:
        return []
    rows = index.turns(max(1, first - 1), last + 1)
    wanted = [row for row in rows if row.turn is not None and first <= row.turn <= last]
    if not wanted:
        return []
    turns = [TurnText(row, index.profile, limits) for row in wanted]
    began = where_began(index.path, index.profile)
    before = rows[0].offset if rows[0].turn == first - 1 else -1
    for turn in turns:
        turn.began = began
        turn.compacted_before = index.is_compacted_between(before, turn.row.offset)
        before = turn.row.offset
    end = rows[-1].offset if rows[-1].turn == last + 1 else index.size
    with open_conversation(index.path, index.profile) as file:
        for number, event, entry in _events_of(file, index, wanted, end):
            turns[number].add(event, entry)
    return turns


def _events_of(file: BinaryIO, index: TurnIndex, rows: list[Row],
               end: int) -> Iterator[tuple[int, Event, Entry | None]]:
    """(index of the row, event, entry) for each line of these turns, without abandoned branches."""
    starts = [row.offset for row in rows]
    abandoned = {row.offset for row in index.abandoned(starts[0], end)}
    dropped: set[str] = set()
    for offset, raw in lines_forward(file, starts[0], end):
        for event in parse(offset, raw):
            entry = entry_of(event, index.profile)
            if entry is not None and (event.offset in abandoned or entry.parent in dropped):
                dropped.add(entry.id)
                continue
            yield bisect.bisect_right(starts, event.offset) - 1, event, entry


def search(index: TurnIndex, text: str) -> tuple[list[Match], bool]:
    """Where a text occurs in the active turns, in upper or lower case, and whether there are more matches."""
    rows = index.turns(1, index.total)
    wanted = text.casefold()
    found: list[Match] = []
    if not rows or not wanted:
        return found, False
    with open_conversation(index.path, index.profile) as file:
        for turn in _turns_that_may_say(file, index, rows, text):
            for where, said, block in _texts_of(turn):
                at = said.casefold().find(wanted)
                if at >= 0:
                    if len(found) == MOST_MATCHES:
                        return found, True
                    found.append(Match(turn.row.turn or 0, where, _snippet(said, at, len(wanted)), block))
    return found, False


def _turns_that_may_say(file: BinaryIO, index: TurnIndex, rows: list[Row], text: str) -> Iterator[TurnText]:
    """One after the other. If the text is ASCII, the bytes are searched before they are parsed."""
    for number in _rows_with_bytes(file, rows, index.size, text) if text.isascii() else range(len(rows)):
        row = rows[number]
        end = rows[number + 1].offset if number + 1 < len(rows) else index.size
        turn = TurnText(row, index.profile, Limits(1 << 20, 64 << 20, 0))
        for _, event, entry in _events_of(file, index, [row], end):
            turn.add(event, entry)
        yield turn


def _rows_with_bytes(file: BinaryIO, rows: list[Row], end: int, text: str) -> Iterator[int]:
    """The indexes of the rows in which the text may occur, in order."""
    from json import dumps

    # As it is, as JSON writes it, and without the blanks that we show after a key.
    forms = {form.lower().encode() for form in (text, dumps(text)[1:-1], text.replace('": ', '":'))}
    starts = [row.offset for row in rows]
    overlap = max(map(len, forms)) - 1
    last = -1
    for at in range(starts[0], end, _BLOCK):
        found: set[int] = set()
        block = read_at(file, at, min(_BLOCK + overlap, end - at)).lower()
        for form in forms:
            place = block.find(form)
            while place >= 0:
                number = bisect.bisect_right(starts, at + place) - 1
                found.add(number)
                following = starts[number + 1] - at if number + 1 < len(starts) else len(block)
                place = block.find(form, max(following, place + 1))
        yield from sorted(number for number in found if number > last)
        last = max(found, default=last)


def _texts_of(turn: TurnText) -> Iterator[tuple[str, str, int | None]]:
    yield "prompt", turn.prompt, None
    for number, block in enumerate(turn.blocks):
        if block["kind"] == "tool":
            yield "tool", f"{block['name']} {block['input']}\n{block['result'] or ''}", number
        elif block["kind"] != "image":
            yield "answer", block["text"], number


def _snippet(text: str, at: int, length: int) -> str:
    start, end = max(0, at - _AROUND), at + length + 2 * _AROUND
    piece = " ".join(text[start:end].split())
    return ("…" if start else "") + piece + ("…" if end < len(text) else "")


def left_processes(index: TurnIndex, offset: int) -> bool:
    """Whether a command after `offset` may have left a process running."""
    tools = [f'"{name}"'.encode() for name in index.profile.tools["shell"]]
    end = min(index.size, offset + _SEARCHED)
    with open_conversation(index.path, index.profile) as file:
        for at, raw in lines_forward(file, offset, end):
            if any(tool in raw for tool in tools):
                for event in parse(at, raw):
                    if _may_start_process(event, index):
                        return True
    return False


def _may_start_process(event: Event, index: TurnIndex) -> bool:
    return any(block.get("type") == "tool_use" and isinstance(block.get("input"), dict)
               and may_have_started(block["input"], str(block.get("name")), index.profile)
               for block in blocks_of(event.data, index.profile))
