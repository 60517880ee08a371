"""Go back to the previous checkpoint on the current line. Repeat it to go further back.

If there are unsaved edits, it goes to the checkpoint that they started from. The current state is saved
first.
"""

from __future__ import annotations

from rewind.cli.go_back.plan_and_outcome import common_arguments as arguments
from rewind.cli.go_back.plan_and_outcome import go_to, show_outcome
from rewind.cli.open_and_answer import Args, open_controller
from rewind.controller import EarlierOnLine

summary = "go back to the previous checkpoint; repeat to go further"
examples = ("rewind undo", "rewind undo --dry-run", "rewind redo                   # reverse an undo")
__all__ = ["arguments", "run"]


def run(args: Args) -> int:
    outcome = go_to(args, open_controller(args), EarlierOnLine(), "code")
    return show_outcome(outcome, args, way_back="redo", headline="Went back to {name}")
