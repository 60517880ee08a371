"""Delete checkpoints, and what only they held. This cannot be undone.

What the project stands on is never deleted, and a pinned checkpoint must be unpinned first. With --force,
a checkpoint that an operation needs to be undone is deleted as well.
"""

from __future__ import annotations

from rewind.cli.open_and_answer import Args, Parser, answer, open_controller
from rewind.cli.output.ask import ask_yes, require_yes
from rewind.cli.output.progress import ProgressLine
from rewind.cli.parse.arguments import SELECTOR
from rewind.errors import RewindError
from rewind.words import age, plural, safe, size

summary = "delete checkpoints for good"
examples = ("rewind delete 12 --dry-run", "rewind delete 12 13 --yes")


def arguments(parser: Parser) -> None:
    parser.add_argument("checkpoints", nargs="+", metavar="CHECKPOINT", help=SELECTOR)
    parser.add_argument("--force", action="store_true",
                        help="delete it even if an operation can then no longer be undone")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    parser.add_argument("--dry-run", action="store_true", help="show what would be deleted, change nothing")


def run(args: Args) -> int:
    controller = open_controller(args)
    records = list({r.name: r for r in map(controller.find, args.checkpoints)}.values())
    names = [record.name for record in records]
    controller.check_deletable(names, force=args.force)
    if not args.json:
        for record in records:
            text = safe(record.description) or record.kind
            print(f"{record.sequence:>4}  {age(record.created):>12}  {text}  {record.name}")
    freed = 0
    if not args.dry_run:
        _confirm(args, len(names))
        with ProgressLine() as progress:
            freed = controller.delete(names, force=args.force, progress=progress).freed
    count = plural(len(names), "checkpoint")
    return answer(args, {"deleted": names, "freedBytes": freed, "dryRun": args.dry_run},
                  f"Would delete {count}" if args.dry_run else f"Deleted {count}, {size(freed)} freed")


def _confirm(args: Args, count: int) -> None:
    if args.yes:
        return
    require_yes(args.json)
    if not ask_yes(f"Delete {plural(count, 'checkpoint')} for good?", default=False):
        raise RewindError("Nothing was deleted.", hint="To see what would go: --dry-run")
