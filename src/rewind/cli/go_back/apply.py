"""Apply what a turn did to the current code: the counterpart of revert.

With --from and no turn, everything that a fork did since it began. Where edits here touch the same lines
there is a conflict: it is shown, nothing is written, and the exit code is 3. --markers, --ours or --theirs
says what to do about conflicts. The conversation stays as it is. To undo it: rewind undo-restore
"""

from __future__ import annotations

from rewind.cli.go_back.merge import merge_arguments, run_merge
from rewind.cli.open_and_answer import Args, Parser
from rewind.controller import Applied
from rewind.errors import UsageError

summary = "apply what a turn or a fork did to the current code"
examples = ("rewind apply --from 3f9a1c2e              # all that this fork did",
            "rewind apply t6 --from 3f9a1c2e -- tests  # only the tests of its turn 6",
            "rewind apply t4                           # again, after a revert",
            "rewind apply t4 --dry-run")
takes_paths = True


def arguments(parser: Parser) -> None:
    parser.add_argument("turns", nargs="*", metavar="TURN",
                        help="t4, t2..t4, SESSION:t4, A..B, or a checkpoint")
    parser.add_argument("--from", dest="session", metavar="FORK", help="a fork or another session")
    merge_arguments(parser, "from the turn")


def run(args: Args) -> int:
    if not args.turns and not args.session:
        raise UsageError("There is nothing to apply.",
                         hint="Name a turn (rewind apply t4) or a fork (rewind apply --from FORK).")
    return run_merge(args, lambda paths, how: Applied(args.turns, args.session, paths, how))
