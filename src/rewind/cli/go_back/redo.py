"""Reverse the last `undo` or `undo-restore`: exactly what it replaced comes back.

After a new checkpoint with different files, or a new restore, there is nothing to redo.
"""

from __future__ import annotations

from rewind.cli.go_back.restored import common_arguments as arguments
from rewind.cli.go_back.restored import show_outcome, show_plan
from rewind.cli.output.progress import ProgressLine
from rewind.cli.parse.session import Args, open_controller
from rewind.controller import BeforeUndo

summary = "reverse the last undo or undo-restore"
examples = ("rewind redo", "rewind redo --dry-run")
__all__ = ["arguments", "run"]


def run(args: Args) -> int:
    controller = open_controller(args)
    if args.dry_run:
        return show_plan(controller.plan(BeforeUndo(), force=args.force), args.json)
    with ProgressLine() as progress:
        outcome = controller.redo(force=args.force, progress=progress)
    name = outcome.record.name if outcome.record else ""
    return show_outcome(outcome, args.json, way_back="", headline=f"Redone. The code is as it was in {name}",
                        alone="Redone. No file of this project was changed.")
