"""Keep a checkpoint for good. A pinned checkpoint is never collected, not even by `gc --keep`.

`rewind unpin` lets it be collected again like the others.
"""

from __future__ import annotations

from rewind.cli.open_and_answer import Args, Parser, answer, open_controller
from rewind.cli.parse.arguments import SELECTOR
from rewind.words import safe

summary = "keep a checkpoint for good"
summaries = {"unpin": "let a pinned checkpoint be collected again"}
examples = ("rewind pin 12", "rewind pin t4+", "rewind unpin 12")


def arguments(parser: Parser) -> None:
    parser.add_argument("checkpoint", help=SELECTOR)
    parser.add_argument("--dry-run", action="store_true", help="show what would happen, change nothing")


def run(args: Args) -> int:
    controller = open_controller(args)
    pinned = args.command == "pin"
    record = controller.find(args.checkpoint)
    if not args.dry_run:
        record = controller.pin(record.name, pinned)
    done = f"Would {args.command}" if args.dry_run else "Pinned" if pinned else "Unpinned"
    return answer(args, {"checkpoint": record.name, "pinned": pinned, "dryRun": args.dry_run},
                  f"{done} {record.sequence}: {safe(record.description) or record.kind}  {record.name}")
