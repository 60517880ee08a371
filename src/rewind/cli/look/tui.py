"""The timeline of this project: look around and go back. `rewind` without a command opens it as well.

Without the packages of the user interfaces, or on a simple terminal, it is a numbered list in plain text
that can do the same.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from rewind.cli.go_back.resume import run_client
from rewind.cli.open_and_answer import Args, Parser, note
from rewind.cli.output.clipboard import copy
from rewind.cli.output.theme import light_wanted, remember_light
from rewind.cli.parse.commands import load_room
from rewind.errors import DONE, UsageError

summary = "open the full-screen timeline: look around and go back"
examples = ("rewind tui", "rewind tui --plain            # a numbered list, for any terminal")


def arguments(parser: Parser) -> None:
    parser.add_argument("--plain", action="store_true", help="a numbered list in plain text")


def run(args: Args) -> int:
    if args.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("`rewind tui` needs an interactive terminal.",
                         hint="`rewind list --json` and `rewind restore` do the same in scripts.")
    plain = args.plain or os.environ.get("TERM", "dumb") in ("dumb", "")
    app = None if plain else load_room("rewind.tui.app")
    if app:
        return _start(app, args.project)
    if not plain:
        note("The full-screen timeline needs more packages: `pipx install '.[ui]'` in a checkout, or"
             " `rewind install --with-ui`.")
    from rewind.cli.look.picker import pick

    return pick(args.project)


def _start(app: Any, project: str | None) -> int:
    command, now = app.run(app.Host(project, copy, light_wanted(), remember_light))
    if command and now:
        run_client(command)
    if command:
        note("Continue with:")
        print(f"  {command}")
    return DONE
