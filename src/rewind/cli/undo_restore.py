"""Take back the last restore, undo or redo: the project is again as it was before it.

Also the way out when a restore was interrupted.
"""

from __future__ import annotations

from rewind.cli.progress import ProgressLine
from rewind.cli.restored import common_arguments as arguments
from rewind.cli.restored import show_plan, show_restored
from rewind.cli.session import open_controller

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

summary = "take back the last restore"
examples = ("rewind undo-restore", "rewind undo-restore --dry-run")
__all__ = ["arguments", "run"]


def run(args: argparse.Namespace) -> int:
    controller = open_controller(args)
    if args.dry_run:
        return show_plan(controller.plan_undo_restore(), args.json, notes=controller.foretell(forward=False))
    with ProgressLine() as progress:
        restored = controller.undo_restore(force=args.force, progress=progress)
    return show_restored(restored, args.json, way_back="redo" if restored.can_redo else "",
                         alone="The last step is taken back; it was about the conversation only.")
