"""Undo the last operation: restore, back, undo, or a change to a fork. Files and conversations are again as
they were before it. Repeat it to undo the operation before that.

With OP, undo that operation and all later ones; `rewind ops` lists them. Also the way out when an operation
was interrupted.
"""

from __future__ import annotations

from rewind.cli.go_back.plan_and_outcome import common_arguments, go_to, show_outcome
from rewind.cli.open_and_answer import Args, Parser, note, open_controller
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
    outcome = go_to(args, controller, BeforeOperation(args.op))
    if outcome and outcome.operation:
        what = safe(controller.describe(controller.operation(outcome.operation)))  # "undid: restored …"
        what = f"{what[:1].upper()}{what[1:]}"
        outcome.notes.insert(0, what) if args.json else note(what)
    return show_outcome(outcome, args, way_back="redo" if outcome and outcome.can_redo else "",
                        headline="Undone. The code is as it was in {name}",
                        alone="Undone. No file of this project was changed.")
