"""Deprecated: cut a session's own transcript back to a checkpoint. `rewind back --in-place` does this better.

A backup is made first. Type REWRITE to confirm.
"""

from __future__ import annotations

import sys

from rewind.cli.go_back.plan_and_outcome import show_outcome
from rewind.cli.open_and_answer import Args, Parser, answer, note, open_controller
from rewind.cli.parse.arguments import SELECTOR
from rewind.errors import RewindError

summary = "deprecated: use `rewind back --in-place`"
examples = ("rewind rewrite-chat last", "rewind rewrite-chat 3 --dry-run")
_WORD = "REWRITE"


def arguments(parser: Parser) -> None:
    parser.add_argument("checkpoint", help=SELECTOR)
    parser.add_argument("--force", action="store_true", help="proceed even if the session is open")
    parser.add_argument("--dry-run", action="store_true", help="show what would happen, change nothing")


def run(args: Args) -> int:
    controller = open_controller(args)
    record = controller.find(args.checkpoint)
    note("This command is deprecated; `rewind back --in-place` and `rewind restore --in-place` do the same.")
    if args.dry_run:
        return answer(args, {"checkpoint": record.name, "dryRun": True},
                      f"Would cut the transcript back to {record.name}")
    note(f"The transcript will be cut back to {record.name}. Type {_WORD} to go on:")
    if sys.stdin.readline().strip() != _WORD:
        raise RewindError("Not confirmed. Nothing was changed.", hint=f"Type {_WORD}, in capitals.")
    outcome = controller.restore(record.name, mode="conversation", in_place=True, force=args.force)
    return show_outcome(outcome, args)
