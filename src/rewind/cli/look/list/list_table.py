"""The list of checkpoints on a terminal: columns as wide as they must be, and what fits on a line."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rewind.cli.output.change_counts import amount_of
from rewind.cli.output.columns import cells, cut, terminal_width
from rewind.cli.output.style import paint
from rewind.controller import Controller
from rewind.words import age, safe, size

if TYPE_CHECKING:
    from rewind.checkpoint.log.operations import Operation
    from rewind.checkpoint.records.record import Record

_PATIENCE = 0.25  # seconds for what is not known yet
_ROOM = 18  # columns that a description should have
_GAP = "  "
_HERE = " ◀ here"
_STYLES = {"name": "cyan", "age": "dim", "chat": "magenta", "new": "dim"}
_TO_THE_RIGHT = ("number", "age", "new")
_DISPENSABLE = ("new", "why", "changes")  # in this order, on a narrow terminal


def print_table(controller: Controller, rows: list[Record], why: list[str],
                operations: list[Operation]) -> None:
    """Between the checkpoints stand the operations, where they happened."""
    changes = controller.row_changes(rows, _PATIENCE)
    now, here = time.time(), controller.here()
    columns = {
        "number": [f" {r.sequence}" for r in rows],
        "name": [r.name for r in rows],
        "age": [age(r.created, now) for r in rows],
        "why": why,
        "chat": ["chat" if r.data.get("hasTranscript") else "" for r in rows],
        "changes": [(amount_of(changes[r.name]) or "unchanged") if r.name in changes else "" for r in rows],
        "new": [f"{size(r.code.get('newBytes') or 0)} new" for r in rows],
    }
    room = _fit(columns)
    incomplete = controller.incomplete()
    widths = {key: max(map(cells, column)) for key, column in columns.items()}
    for at, record in enumerate(rows):
        while operations and operations[0].sequence >= record.sequence:
            _print_operation(controller, operations.pop(0), widths, now)
        parts = []
        for key, column in columns.items():
            gap = " " * (widths[key] - cells(column[at]))
            text = gap + column[at] if key in _TO_THE_RIGHT else column[at] + gap
            parts.append(paint(text, _STYLES[key]) if key in _STYLES and text.strip() else text)
        text = safe(record.description)
        if record.name in incomplete:
            text = f"incomplete: {incomplete[record.name].text}  {text}"
        is_here = bool(here and here.name == record.name)
        text = cut(text, room - len(_HERE)) if is_here else cut(text, room)
        print(_GAP.join([*parts, text + paint(_HERE, "green") if is_here else text]).rstrip())


def _print_operation(controller: Controller, op: Operation, widths: dict[str, int], now: float) -> None:
    left = " " * widths.get("number", 1) + _GAP
    wide = terminal_width() - 1
    text = f"↶ {safe(controller.describe(op))}{', undone' if op.undone else ''}"
    end = f"  {age(op.time, now)}  {op.id}"
    print(left + paint(cut(text, max(_ROOM, wide - cells(left) - cells(end))), "yellow") + paint(end, "dim"))


def _fit(columns: dict[str, list[str]]) -> int:
    """Leave out what a narrow terminal has no room for; how much is left for the description."""
    for key in [key for key, column in columns.items() if not any(column)]:
        del columns[key]
    wide = terminal_width()
    for key in ("", *_DISPENSABLE):
        columns.pop(key, None)
        room = wide - 1 - sum(max(map(cells, column)) + len(_GAP) for column in columns.values())
        if room >= _ROOM:
            break
    return max(room, _ROOM)
