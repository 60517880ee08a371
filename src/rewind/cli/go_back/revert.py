"""Take back what one turn did, and keep everything that came later.

The change of the turn is removed from the files as they are now, line by line. Where later edits touch the
same lines there is a conflict: it is shown, nothing is written, and the exit code is 3. --markers, --ours or
--theirs says what to do about conflicts. The conversation stays as it is; a note to paste into it is printed.

A turn is `t4`, several are `t2..t4`. `A..B` takes back what changed from checkpoint A to B, and a checkpoint
alone what changed since its parent. To undo it: rewind undo-restore
"""

from __future__ import annotations

from rewind.cli.go_back.merge import merge_arguments, run_merge
from rewind.cli.open_and_answer import Args, Parser
from rewind.controller import Reverted

summary = "take back what one turn did, keep everything later"
examples = ("rewind revert t4 --dry-run    # what would change, and conflicts",
            "rewind revert t4", "rewind revert t2 t5           # two turns",
            "rewind revert t4 -- src/app.py", "rewind revert t4 --markers    # write conflict markers")
takes_paths = True


def arguments(parser: Parser) -> None:
    parser.add_argument("turns", nargs="+", metavar="TURN",
                        help="t4, t2..t4, SESSION:t4, A..B, or a checkpoint")
    parser.add_argument("--session", metavar="ID", help="the session whose turns are meant")
    merge_arguments(parser, "from before the turn")


def run(args: Args) -> int:
    return run_merge(args, lambda paths, how: Reverted(args.turns, args.session, paths, how))
