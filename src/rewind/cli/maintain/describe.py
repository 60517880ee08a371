"""Change the description of a checkpoint, so that you find it again."""

from __future__ import annotations

from rewind.cli.open_and_answer import Args, Parser, answer, open_controller
from rewind.cli.parse.arguments import SELECTOR
from rewind.words import safe

summary = "change the description of a checkpoint"
examples = ('rewind describe 12 "works, before the rewrite"', 'rewind describe last ""')
takes_text = True
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
    new = args.description if args.dry_run else record.description
    would = "Would describe" if args.dry_run else "Described"
    return answer(args, {"checkpoint": record.name, "description": record.description, "before": was,
                         "dryRun": args.dry_run},
                  f"{would} {record.sequence} as \"{safe(new)}\"  {record.name}")
