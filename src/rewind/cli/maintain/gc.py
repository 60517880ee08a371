"""Delete old checkpoints and give their space back.

Without options the retention policy decides: everything of the last day stays, then one an hour for
a week, then one a day for a month. The 20 newest, manual checkpoints and the backups of the last 20
restores always stay. With `--keep N` you ask for more: only the N newest stay, manual or not, and
the backups that `undo-restore` and `redo` need.
"""

from __future__ import annotations

from rewind.cli.open_and_answer import Args, Parser, answer, note, open_controller
from rewind.cli.output.progress import ProgressLine
from rewind.cli.parse.arguments import at_least_one
from rewind.words import plural, size

summary = "delete old checkpoints and give their space back"
examples = ("rewind gc --dry-run", "rewind gc", "rewind gc --keep 50")


def arguments(parser: Parser) -> None:
    parser.add_argument("--keep", type=int, metavar="N", help="keep the N newest and delete the rest")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be deleted")


def run(args: Args) -> int:
    at_least_one("--keep", args.keep, "`rewind gc --keep 20` keeps 20.")
    controller = open_controller(args)
    if args.dry_run:
        names = [record.name for record in controller.plan_gc(args.keep)]
        freed = 0
    else:
        with ProgressLine() as progress:
            collected = controller.gc(args.keep, progress=progress)
        names, freed = collected.deleted, collected.freed
    for name in [] if args.json else names:
        note(f"  {name}")
    count = plural(len(names), "checkpoint")
    if args.dry_run:
        text = f"{count if names else 'Nothing'} would be deleted"
    else:
        text = f"Deleted {count}, {size(freed)} freed" if names or freed else "There was nothing to delete."
    return answer(args, {"deleted": names, "freedBytes": freed, "dryRun": args.dry_run}, text)
