"""Show the checkpoints, newest first."""

from __future__ import annotations

import sys
import time

from rewind.cli.pager import add_pager_option, paged
from rewind.cli.session import detail, note, open_controller, print_json
from rewind.cli.style import age, safe, size
from rewind.controller import timestamp
from rewind.errors import RewindError
from rewind.words import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from rewind.checkpoint.damage import Lacks
    from rewind.checkpoint.missed import Missed
    from rewind.checkpoint.record import Record
    from rewind.checkpoint.rewind.operations import Operation
    from rewind.checkpoint.timeline import Brief
    from rewind.controller import Controller

summary = "show the checkpoints, newest first"
examples = ("rewind list", "rewind list --all             # backups too, however many there are",
            "rewind list --json")
_SHOWN = 30
_EVENTS = {"UserPromptSubmit": "prompt", "Stop": "turn end", "SessionStart": "session"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="every one, and the backups of restores too")
    parser.add_argument("--session", metavar="ID", help="only those of one agent session")
    add_pager_option(parser)


def run(args: argparse.Namespace) -> int:
    controller = open_controller(args)
    if args.json or sys.stdout.isatty():
        count = _show(controller, args)
    else:
        count = _print_lines(controller, controller.list_briefs(backups=args.all, session=args.session),
                             [] if args.session else _operations(controller))
    detail(plural(count, "checkpoint"))
    for name, error in controller.damaged().items():
        note(f"warning: {name} is left out: {error.message}")
    if not args.json:
        _note_missing(controller.missed())
    if not count and not args.json:
        _print_none(args.session)
    return 0


def _show(controller: Controller, args: argparse.Namespace) -> int:
    records = controller.list_checkpoints(backups=args.all, session=args.session)
    if args.json:
        incomplete = controller.incomplete()
        here, parents, missed = controller.here(), controller.lineage().parents, controller.missed()
        print_json({"here": here.name if here else None,
                    "checkpoints": [_json(r, incomplete.get(r.name), parents.get(r.name)) for r in records],
                    "late": missed.late_json(), "missed": missed.json()})
    elif records:
        with paged(args):
            _print_table(controller, records, records if args.all else records[:_SHOWN],
                         [] if args.session else _operations(controller))
    return len(records)


def _json(record: Record, lacks: Lacks | None, parent: str | None) -> dict[str, object]:
    return {"name": record.name, "createdAt": record.created_at, "kind": record.kind,
            "sequence": record.sequence, "parent": parent, "place": record.place,
            "description": record.description, "trigger": record.trigger,
            "hasTranscript": bool(record.data.get("hasTranscript")), "sessionId": record.session,
            "fileCount": record.code.get("fileCount"), "totalSize": record.code.get("totalSize"),
            "newBytes": record.code.get("newBytes"), "incomplete": lacks.text if lacks else None,
            "late": record.trigger.get("late") is True}


def _note_missing(missed: Missed) -> None:
    """What a person would look for here in vain."""
    for one in missed.late:
        text = safe(str(one.get("description") or one.get("event") or ""))
        note(f"late: still being saved, since {age(timestamp(str(one['at'])))}: {text}")
    if missed.events:
        note(f"warning: {safe(missed.text)} `rewind doctor` says more.")


def _print_none(session: str | None) -> None:
    if session:
        print("There are no checkpoints of this session.")
        note("`rewind sessions list` shows the ids.")
    else:
        print("There are no checkpoints yet.")
        note("`rewind save` makes one.")


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


def _print_lines(controller: Controller, rows: list[Brief], operations: list[Operation]) -> int:
    """For a pipe: fixed columns, and nothing that has to be found out first."""
    now, incomplete = time.time(), controller.incomplete()
    number = 0
    lines = []
    for row in rows:
        while operations and operations[0].sequence >= row.sequence:
            op = operations.pop(0)
            text = f"{op.command}: {safe(controller.describe(op))}"
            lines.append(f"{'':>4}  {op.id:<19}  {age(op.time, now):>12}  {text}")
        place = ""
        if row.kind != "backup":
            number += 1
            place = str(number)
        why = safe(_why(row.kind, row.event, row.tool))
        chat = "chat" if row.chat else ""
        text = safe(row.description)
        if incomplete and row.name in incomplete:
            text = f"incomplete: {incomplete[row.name].text}  {text}"
        lines.append(f"{place:>4}  {row.name}  {age(row.created, now):>12}  {why:<8}  {chat:<4}"
                     f"  {size(row.new_bytes):>7} new  {text}".rstrip())
    if lines:
        print("\n".join(lines))
    return len(rows)


def _print_table(controller: Controller, records: list[Record], rows: list[Record],
                 operations: list[Operation]) -> None:
    from rewind.cli.list_table import print_table

    print_table(controller, rows, [_why_of(record) for record in rows], operations)
    if len(rows) < len(records):
        note(f"… and {plural(len(records) - len(rows), 'older checkpoint')}; `rewind list --all` shows all.")
