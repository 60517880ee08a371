"""Go forward again, to the state that the last step back had left."""

from __future__ import annotations

from rewind.cli.progress import ProgressLine
from rewind.cli.restored import common_arguments as arguments
from rewind.cli.restored import show_plan, show_restored
from rewind.cli.session import open_controller

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

summary = "go forward again after a step back"
examples = ("rewind redo", "rewind redo --dry-run")
__all__ = ["arguments", "run"]


def run(args: argparse.Namespace) -> int:
    controller = open_controller(args)
    if args.dry_run:
        return show_plan(controller.plan_redo(), args.json, notes=controller.foretell(forward=True))
    with ProgressLine() as progress:
        restored = controller.redo(force=args.force, progress=progress)
    return show_restored(restored, args.json,
                         alone="The step is done again; it was about the conversation only.")
