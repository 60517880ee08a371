"""Go back to the checkpoint before; repeat it to go further back.

The current state is saved first: `rewind redo` goes forward again.
"""

from __future__ import annotations

from rewind.cli.progress import ProgressLine
from rewind.cli.restored import common_arguments as arguments
from rewind.cli.restored import show_plan, show_restored
from rewind.cli.session import open_controller

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

summary = "go back to the checkpoint before; may be repeated"
examples = ("rewind undo", "rewind undo --dry-run")
__all__ = ["arguments", "run"]


def run(args: argparse.Namespace) -> int:
    controller = open_controller(args)
    if args.dry_run:
        return show_plan(controller.plan_undo(), args.json)
    with ProgressLine() as progress:
        return show_restored(controller.undo(force=args.force, progress=progress), args.json)
