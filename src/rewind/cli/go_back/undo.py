"""Go back to the previous checkpoint on the current line. Repeat it to go further back.

If there are unsaved edits, it goes to the checkpoint that they started from. The current state is saved
first.
"""

from __future__ import annotations

from rewind.cli.go_back.restored import common_arguments as arguments
from rewind.cli.go_back.restored import show_outcome, show_plan
from rewind.cli.output.progress import ProgressLine
from rewind.cli.parse.session import Args, open_controller
from rewind.controller import EarlierOnLine

summary = "go back to the previous checkpoint; repeat to go further"
examples = ("rewind undo", "rewind undo --dry-run", "rewind redo                   # reverse an undo")
__all__ = ["arguments", "run"]


def run(args: Args) -> int:
    controller = open_controller(args)
    if args.dry_run:
        return show_plan(controller.plan(EarlierOnLine(), "code"), args.json)
    with ProgressLine() as progress:
        outcome = controller.undo(force=args.force, progress=progress)
    name = outcome.record.name if outcome.record else ""
    return show_outcome(outcome, args.json, way_back="redo", headline=f"Went back to {name}")
