"""`rewind list --checkpoints`: every checkpoint, newest first."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rewind.cli.every_command import Args, detail, note
from rewind.cli.output.pager import paged
from rewind.controller import Controller, brief
from rewind.errors import RewindError
from rewind.words import age, plural, safe, size

if TYPE_CHECKING:
    from rewind.checkpoint.log.operations import Operation
    from rewind.checkpoint.records.record import Record
    from rewind.checkpoint.records.timeline import Brief

_SHOWN = 30
_EVENTS = {"UserPromptSubmit": "prompt", "Stop": "turn end", "SessionStart": "session"}


def list_checkpoints(controller: Controller, args: Args, paths: list[bytes] | None) -> int:
    """How many there are."""
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
    from rewind.cli.look.list.list_table import print_table

    shown = records if args.all else records[:_SHOWN]
    with paged(args):
        print_table(controller, shown, [_why(row) for row in rows[:len(shown)]], operations)
    if len(shown) < len(records):
        note(f"{plural(len(records) - len(shown), 'older checkpoint')}: rewind list --checkpoints --all")
    return len(rows)


def _why(row: Brief) -> str:
    """What it was made for, in a word or two."""
    if row.kind in ("backup", "initial") or not row.event:
        return safe(row.kind)
    return safe((_EVENTS.get(row.event) or row.tool or row.event)[:12])


def _operations(controller: Controller) -> list[Operation]:
    """Those that stand between the checkpoints, newest first; a log that cannot be read is told elsewhere."""
    try:
        return [op for op in reversed(controller.operations()) if op.ended and not op.superseded]
    except RewindError:
        return []


def _print_lines(controller: Controller, rows: list[Brief], operations: list[Operation]) -> None:
    """For a pipe: number, name, age, what it was made for, whether it has a conversation, new bytes,
    description."""
    now, incomplete = time.time(), controller.incomplete()
    lines = []
    for row in rows:
        while operations and operations[0].sequence >= row.sequence:
            op = operations.pop(0)
            lines.append(f"\t{op.id}\t{age(op.time, now)}\t{op.command}\t\t\t{safe(controller.describe(op))}")
        text = safe(row.description)
        if incomplete and row.name in incomplete:
            text = f"incomplete: {incomplete[row.name].text}  {text}"
        chat = "chat" if row.has_conversation else ""
        lines.append(f"{row.sequence}\t{row.name}\t{age(row.created, now)}\t{_why(row)}\t{chat}"
                     f"\t{size(row.new_bytes)} new\t{text}")
    if lines:
        print("\n".join(lines))
