"""`rewind list --checkpoints`: every checkpoint, newest first."""

from __future__ import annotations

import sys
import time

from rewind.cli.output.pager import paged
from rewind.cli.parse.session import Args, detail, note
from rewind.errors import RewindError
from rewind.words import age, plural, safe, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.records.record import Record
    from rewind.checkpoint.records.timeline import Brief
    from rewind.checkpoint.rewind.log.operations import Operation
    from rewind.controller import Controller

_SHOWN = 30
_EVENTS = {"UserPromptSubmit": "prompt", "Stop": "turn end", "SessionStart": "session"}


def list_checkpoints(controller: Controller, args: Args, paths: list[bytes] | None) -> int:
    """How many there are."""
    operations = [] if args.session or paths else _operations(controller)
    if not sys.stdout.isatty() and not paths:
        rows = controller.list_briefs(backups=args.all, session=args.session)
        _print_lines(controller, rows, operations)
        detail(plural(len(rows), "checkpoint"))
        return len(rows)
    records = controller.list_checkpoints(backups=args.all, session=args.session)
    records = controller.checkpoints_touching(records, paths) if paths else records
    detail(plural(len(records), "checkpoint"))
    if not records:
        return 0
    if not sys.stdout.isatty():
        from rewind.controller import brief

        _print_lines(controller, [brief(record) for record in records], operations)
        return len(records)
    shown = records if args.all else records[:_SHOWN]
    with paged(args):
        _print_table(controller, shown, operations)
    if len(shown) < len(records):
        note(f"{plural(len(records) - len(shown), 'older checkpoint')}: rewind list --checkpoints --all")
    return len(records)


def _why(kind: str, event: str | None, tool: str | None) -> str:
    """What it was made for, in a word or two."""
    if kind in ("backup", "initial") or not event:
        return kind
    return (_EVENTS.get(event) or tool or event)[:12]


def _operations(controller: Controller) -> list[Operation]:
    """Those that stand between the checkpoints, newest first; a log that cannot be read is told elsewhere."""
    try:
        return [op for op in reversed(controller.operations()) if op.ended and not op.superseded]
    except RewindError:
        return []


def _why_of(record: Record) -> str:
    event, tool = record.trigger.get("event"), record.trigger.get("tool")
    return _why(record.kind, str(event) if event else None, str(tool) if tool else None)


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
        why = safe(_why(row.kind, row.event, row.tool))
        chat = "chat" if row.chat else ""
        lines.append(f"{row.sequence}\t{row.name}\t{age(row.created, now)}\t{why}\t{chat}"
                     f"\t{size(row.new_bytes)} new\t{text}")
    if lines:
        print("\n".join(lines))


def _print_table(controller: Controller, rows: list[Record], operations: list[Operation]) -> None:
    from rewind.cli.look.list.list_table import print_table

    print_table(controller, rows, [_why_of(record) for record in rows], operations)
