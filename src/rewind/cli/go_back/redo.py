"""Reverse the last `undo` or `undo-restore`: exactly what it replaced comes back.

After a new checkpoint with different files, or a new restore, there is nothing to redo.
"""

from __future__ import annotations

from rewind.cli.go_back.plan_and_outcome import common_arguments as arguments
from rewind.cli.go_back.plan_and_outcome import go_to, show_outcome
from rewind.cli.open_and_answer import Args, open_controller
from rewind.controller import BeforeUndo

summary = "reverse the last undo or undo-restore"
examples = ("rewind redo", "rewind redo --dry-run")
__all__ = ["arguments", "run"]


def run(args: Args) -> int:
    outcome = go_to(args, open_controller(args), BeforeUndo())
    return show_outcome(outcome, args, way_back="", headline="Redone. The code is as it was in {name}",
                        alone="Redone. No file of this project was changed.")
