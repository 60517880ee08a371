"""Undo the last operation: restore, back, undo, or a change to a fork. Files and conversations are again as
they were before it. Repeat it to undo the operation before that.

With OP, undo that operation and all later ones; `rewind ops` lists them. Also the way out when an operation
was interrupted.
"""

from __future__ import annotations

from rewind.cli.go_back.restored import common_arguments, show_outcome, show_plan
from rewind.cli.output.progress import ProgressLine
from rewind.cli.parse.session import Args, Parser, note, open_controller
from rewind.controller import BeforeOperation
from rewind.words import safe

summary = "undo the last restore, or an operation and all later ones"
examples = ("rewind undo-restore", "rewind undo-restore --dry-run",
            "rewind undo-restore 3f9a1c2e  # this operation and all later ones")


def arguments(parser: Parser) -> None:
    parser.add_argument("op", nargs="?", default="", metavar="OP", help="an operation of `rewind ops`")
    common_arguments(parser)


def run(args: Args) -> int:
    controller = open_controller(args)
    if args.dry_run:
        return show_plan(controller.plan(BeforeOperation(args.op)), args.json)
    with ProgressLine() as progress:
        outcome = controller.undo_restore(args.op, force=args.force, progress=progress)
    name = outcome.record.name if outcome.record else ""
    if outcome.operation and not args.json:
        what = controller.describe(controller.operation(outcome.operation))  # "undid: restored …"
        note(f"{what[:1].upper()}{safe(what[1:])}")
    return show_outcome(outcome, args.json, way_back="redo" if outcome.can_redo else "",
                        headline=f"Undone. The code is as it was in {name}",
                        alone="Undone. No file of this project was changed.")
