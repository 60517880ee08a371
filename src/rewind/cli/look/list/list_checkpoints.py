"""`rewind list --checkpoints`: every checkpoint, newest first, and between them what Rewind did."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args, detail, note
from rewind.cli.output.change_counts import amount_of
from rewind.cli.output.columns import cells, cut, terminal_width
from rewind.cli.output.pager import paged
from rewind.cli.output.style import paint
from rewind.controller import Controller, brief
from rewind.errors import RewindError
from rewind.words import age, plural, safe, size

if TYPE_CHECKING:
    from rewind.checkpoint.operation_log.operations import Operation
    from rewind.checkpoint.records.record import Record
    from rewind.checkpoint.records.timeline import Brief

_SHOWN = 30
_PATIENCE = 0.25  # seconds for counting changes
_EVENTS = {"UserPromptSubmit": "prompt", "Stop": "turn end", "SessionStart": "session"}
_ROOM = 18  # columns that a description has at least
_GAP = "  "
_HERE = " ◀ here"
_STYLES = {"name": "cyan", "age": "dim", "chat": "magenta", "new": "dim"}
_TO_THE_RIGHT = ("number", "age", "new")
_DISPENSABLE = ("new", "why", "changes")  # left out in this order on a narrow terminal


def list_checkpoints(controller: Controller, args: Args, paths: list[bytes] | None) -> int:
    """Print them and return how many there are."""
    operations = [] if args.session or paths else _operations(controller)
    on_terminal = sys.stdout.isatty()
    records: list[Record] = []
    if on_terminal or paths:
        records = controller.list_checkpoints(backups=args.all, session=args.session)
        records = controller.checkpoints_touching(records, paths) if paths else records
        rows = [brief(record) for record in records]
    else:
        rows = controller.list_briefs(backups=args.all, session=args.session)
    detail(plural(len(rows), "checkpoint"))
    if not rows or not on_terminal:
        _print_lines(controller, rows, operations)
        return len(rows)
    shown = rows if args.all else rows[:_SHOWN]
    with paged(args):
        _print_table(controller, shown, records[:len(shown)], operations)
    if len(shown) < len(rows):
        note(f"{plural(len(rows) - len(shown), 'older checkpoint')}: rewind list --checkpoints --all")
    return len(rows)


def _operations(controller: Controller) -> list[Operation]:
    """Newest first; other commands report a log that cannot be read."""
    try:
        return [op for op in reversed(controller.operations()) if op.ended and not op.superseded]
    except RewindError:
        return []


def _columns(rows: list[Brief], now: float) -> dict[str, list[str]]:
    return {"number": [str(row.sequence) for row in rows],
            "name": [row.name for row in rows],
            "age": [age(row.created, now) for row in rows],
            "why": [_why(row) for row in rows],
            "chat": ["chat" if row.has_conversation else "" for row in rows],
            "new": [f"{size(row.new_bytes)} new" for row in rows]}


def _why(row: Brief) -> str:
    """What it was made for, in a word or two."""
    if row.kind in ("backup", "initial") or not row.event:
        return safe(row.kind)
    return safe((_EVENTS.get(row.event) or row.tool or row.event)[:12])


def _texts(controller: Controller, rows: list[Brief]) -> list[str]:
    incomplete = controller.incomplete()
    return [(f"incomplete: {incomplete[row.name].text}  " if row.name in incomplete else "")
            + safe(row.description) for row in rows]


def _print_lines(controller: Controller, rows: list[Brief], operations: list[Operation]) -> None:
    """For a pipe: number, name, age, what it was made for, whether it has a conversation, new bytes,
    description."""
    now = time.time()
    lines = []
    for row, *parts in zip(rows, *_columns(rows, now).values(), _texts(controller, rows)):
        while operations and operations[0].sequence >= row.sequence:
            op = operations.pop(0)
            lines.append(f"\t{op.id}\t{age(op.time, now)}\t{op.command}\t\t\t{safe(controller.describe(op))}")
        lines.append("\t".join(parts))
    if lines:
        print("\n".join(lines))


# on a terminal

def _print_table(controller: Controller, rows: list[Brief], records: list[Record],
                 operations: list[Operation]) -> None:
    now, here = time.time(), controller.here()
    columns = _columns(rows, now)
    columns["number"] = [f" {number}" for number in columns["number"]]
    changes, new = controller.row_changes(records, _PATIENCE), columns.pop("new")
    columns["changes"] = [(amount_of(changes[row.name]) or "unchanged") if row.name in changes else ""
                          for row in rows]
    columns["new"] = new
    room = _fit(columns)
    widths = {key: max(map(cells, column)) for key, column in columns.items()}
    for at, (row, text) in enumerate(zip(rows, _texts(controller, rows))):
        while operations and operations[0].sequence >= row.sequence:
            _print_operation(controller, operations.pop(0), widths, now)
        parts = [_cell(key, column[at], widths[key]) for key, column in columns.items()]
        mark = _HERE if here and here.name == row.name else ""
        print(_GAP.join([*parts, cut(text, room - len(mark)) + paint(mark, "green")]).rstrip())


def _cell(key: str, text: str, width: int) -> str:
    gap = " " * (width - cells(text))
    text = gap + text if key in _TO_THE_RIGHT else text + gap
    return paint(text, _STYLES[key]) if key in _STYLES and text.strip() else text


def _print_operation(controller: Controller, op: Operation, widths: dict[str, int], now: float) -> None:
    left = " " * widths["number"] + _GAP
    wide = terminal_width() - 1
    text = f"↶ {safe(controller.describe(op))}{', undone' if op.undone else ''}"
    end = f"  {age(op.time, now)}  {op.id}"
    print(left + paint(cut(text, max(_ROOM, wide - cells(left) - cells(end))), "yellow") + paint(end, "dim"))


def _fit(columns: dict[str, list[str]]) -> int:
    """Leave out what a narrow terminal has no room for; return the room for the description."""
    for key in [key for key, column in columns.items() if not any(column)]:
        del columns[key]
    wide = terminal_width()
    for key in ("", *_DISPENSABLE):
        columns.pop(key, None)
        room = wide - 1 - sum(max(map(cells, column)) + len(_GAP) for column in columns.values())
        if room >= _ROOM:
            break
    return max(room, _ROOM)
