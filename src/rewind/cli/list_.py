"""Show the checkpoints, newest first."""

from __future__ import annotations

import sys
import time

from rewind.cli.pager import add_pager_option, paged
from rewind.cli.session import detail, note, open_controller, print_json
from rewind.cli.style import age, plural, safe, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from rewind.checkpoint.record import Record
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
    records = controller.list_checkpoints(backups=args.all, session=args.session)
    detail(plural(len(records), "checkpoint"))
    for name, error in controller.state.timeline.damaged.items():
        note(f"warning: {name} is left out: {error.message}")
    if args.json:
        print_json({"checkpoints": [_json(r) for r in records]})
    elif not records:
        _print_none(args.session)
    elif sys.stdout.isatty():
        with paged(args):
            _print_table(controller, records, records if args.all else records[:_SHOWN])
    else:
        _print_lines(records)
    return 0


def _json(record: Record) -> dict[str, object]:
    return {"name": record.name, "createdAt": record.created_at, "kind": record.kind,
            "description": record.description, "trigger": record.trigger,
            "hasTranscript": bool(record.data.get("hasTranscript")), "sessionId": record.session,
            "fileCount": record.code.get("fileCount"), "totalSize": record.code.get("totalSize"),
            "newBytes": record.code.get("newBytes")}


def _print_none(session: str | None) -> None:
    if session:
        print("There are no checkpoints of this session.")
        note("`rewind sessions list` shows the ids.")
    else:
        print("There are no checkpoints yet.")
        note("`rewind save` makes one.")


def _why(record: Record) -> str:
    """What it was made for, in a word or two."""
    event = record.trigger.get("event")
    if record.kind in ("backup", "initial") or not event:
        return record.kind
    return str(_EVENTS.get(event) or record.trigger.get("tool") or event)[:12]


def _print_lines(records: list[Record]) -> None:
    """For a pipe: fixed columns, and nothing that has to be found out first."""
    now = time.time()
    number = 0
    lines = []
    for record in records:
        kind = record.kind
        number += kind != "backup"
        place = number if kind != "backup" else ""
        chat = "chat" if record.data.get("hasTranscript") else ""
        lines.append(f"{place:>4}  {record.name}  {age(record.created, now):>12}"
                     f"  {safe(_why(record)):<8}  {chat:<4}  {size(record.code.get('newBytes') or 0):>7} new"
                     f"  {safe(record.description)}".rstrip())
    print("\n".join(lines))


def _print_table(controller: Controller, records: list[Record], rows: list[Record]) -> None:
    from rewind.cli.list_table import print_table

    print_table(controller, rows, [_why(record) for record in rows])
    if len(rows) < len(records):
        note(f"… and {plural(len(records) - len(rows), 'older checkpoint')}; `rewind list --all` shows all.")
