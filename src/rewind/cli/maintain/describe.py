"""Change the description of a checkpoint, so that you find it again."""

from __future__ import annotations

from rewind.cli.parse.arguments import SELECTOR
from rewind.cli.parse.session import Args, Parser, open_controller, print_json
from rewind.words import safe

summary = "change the description of a checkpoint"
examples = ('rewind describe 12 "works, before the rewrite"', 'rewind describe last ""')
may_be_empty = ("description",)


def arguments(parser: Parser) -> None:
    parser.add_argument("checkpoint", help=SELECTOR)
    parser.add_argument("description", help="the new description; an empty one removes it")
    parser.add_argument("--dry-run", action="store_true", help="show what would happen, change nothing")


def run(args: Args) -> int:
    controller = open_controller(args)
    record = controller.find(args.checkpoint)
    was = record.description
    if not args.dry_run:
        record = controller.describe_checkpoint(record.name, args.description)
    if args.json:
        print_json({"checkpoint": record.name, "description": record.description, "before": was,
                    "dryRun": args.dry_run})
        return 0
    new = args.description if args.dry_run else record.description
    would = "Would describe" if args.dry_run else "Described"
    print(f"{would} {record.sequence} as \"{safe(new)}\"  {record.name}")
    return 0
