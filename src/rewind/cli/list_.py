"""Show the checkpoints, newest first."""

from __future__ import annotations

import sys
import time

from rewind.cli.session import note, open_controller, print_json
from rewind.cli.style import age, plural, safe, size, style_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from rewind.checkpoint.record import Record

summary = "show the checkpoints, newest first"
examples = ("rewind list", "rewind list --all             # backups too, however many there are",
            "rewind list --json")
_SHOWN = 30


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="every one, and the backups of restores too")
    parser.add_argument("--session", metavar="ID", help="only those of one agent session")


def run(args: argparse.Namespace) -> int:
    controller = open_controller(args)
    records = controller.list_checkpoints(backups=args.all, session=args.session)
    for name, error in controller.state.timeline.damaged.items():
        note(f"warning: {name} is left out: {error.message}")
    if args.json:
        print_json({"checkpoints": [_json(r) for r in records]})
        return 0
    _table(records, args.all)
    return 0


def _json(record: Record) -> dict[str, object]:
    return {"name": record.name, "createdAt": record.created_at, "kind": record.kind,
            "description": record.description, "trigger": record.trigger,
            "hasTranscript": bool(record.data.get("hasTranscript")), "sessionId": record.session,
            "fileCount": record.code.get("fileCount"), "totalSize": record.code.get("totalSize"),
            "newBytes": record.code.get("newBytes")}


def _table(records: list[Record], everything: bool) -> None:
    if not records:
        print("There are no checkpoints yet.")
        return
    paint = style_for(sys.stdout)
    few = sys.stdout.isatty() and not everything
    rows = records[:_SHOWN] if few else records
    now = time.time()
    number = 0
    lines = []
    for record in rows:
        kind = record.kind
        number += kind != "backup"
        place = number if kind != "backup" else ""
        chat = "chat" if record.data.get("hasTranscript") else ""
        lines.append(f"{place:>4}  {paint(record.name, 'cyan')}  {age(record.created, now):>12}"
                     f"  {kind:<7}  {chat:<4}  {size(record.code.get('newBytes') or 0):>7} new"
                     f"  {safe(record.description)}".rstrip())
    print("\n".join(lines))
    if len(rows) < len(records):
        note(f"… and {plural(len(records) - len(rows), 'older checkpoint')}; `rewind list --all` shows all.")
