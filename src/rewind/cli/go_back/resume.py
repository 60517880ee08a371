"""Continuing the conversation after going back: the command, and on a terminal an offer to run it."""

from __future__ import annotations

import os
import sys

from rewind.cli.open_and_answer import Args, Parser, note, verbosity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.rewind.outcome import Outcome
    from rewind.controller import Controller


def add_resume_option(parser: Parser) -> None:
    parser.add_argument("--no-resume", action="store_true", help="do not ask whether to resume the session")


def tell_resume(controller: Controller, outcome: Outcome) -> str:
    """Say how to continue the conversation; return the command if it can be run at once."""
    if not outcome.resume:
        return ""
    agent = controller.open_in(outcome)
    note(f"{agent} still has the old conversation open. Run /exit in it, then:" if agent
         else "Continue with:")
    note(f"  {outcome.resume}")
    return "" if agent else outcome.resume


def offer_resume(args: Args, command: str) -> None:
    """`Resume now? [Y/n]`; the client replaces this process."""
    if not command or args.no_resume or args.json or verbosity.quiet or not _can_run(command):
        return
    from rewind.cli.output.ask import ask_yes

    if ask_yes("Resume now?", default=True):
        run_client(command)


def run_client(command: str) -> None:
    """Replace this process by the client."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv("/bin/sh", ["sh", "-c", command])


def _can_run(command: str) -> bool:
    """A person is at the terminal, not an agent, and the client is installed."""
    from rewind.cli.output.ask import has_terminal

    if not (has_terminal() and sys.stdout.isatty()) or os.environ.get("CLAUDECODE"):
        return False
    import shutil

    client = command.rpartition("&& ")[2].split(" ")[0]
    return shutil.which(client) is not None
