"""`rewind __plugin ACTION …`: what the Claude Code plugin asks. Hidden; always one JSON object.

The plugin passes on what it knows (the session, the typed arguments) and shows the answer. `goback`, `turn`,
`follow` and `goforward` answer with a plan; with the plan's digest they carry it out.
"""

from __future__ import annotations

import argparse
import os
from typing import Any, NoReturn

from rewind.cli.open_and_answer import open_controller, print_json
from rewind.cli.plugin import greeting, steps, timeline
from rewind.errors import DONE, UsageError

INTERFACE = 1  # of the answers; a plugin that expects another number says what to update
_ACTIONS = {"goback": steps.goback, "turn": steps.turn, "follow": steps.follow, "goforward": steps.goforward,
            "timeline": timeline.timeline, "band": greeting.band}


def run(argv: list[str]) -> int:
    asked = _parse(argv)
    if asked.action == "start":
        answer = greeting.greeting(asked, os.environ)
    else:
        controller = open_controller(asked)
        try:
            answer = _ACTIONS[asked.action](controller, asked)
        finally:
            controller.close()
    print_json({"interface": INTERFACE, **answer})
    return DONE


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"`rewind __plugin`: {message}.", hint="Only Rewind's Claude Code plugin calls it.")


def _parse(argv: list[str]) -> Any:
    parser = _Parser(prog="rewind __plugin", add_help=False, allow_abbrev=False)
    parser.add_argument("action", choices=("start", *_ACTIONS))
    parser.add_argument("--typed", default="", help="what the person typed after the command")
    parser.add_argument("--session", default="", help="the session that the client has open")
    parser.add_argument("--of", default="", help="the session whose turn is meant")
    parser.add_argument("--uuid", default="", help="the id of that turn's prompt")
    parser.add_argument("--gone", type=int, default=0, help="prompts that the client itself took back")
    parser.add_argument("--digest", default="", help="of the plan that the person agreed to")
    parser.add_argument("--mod", default="", help="the plugin's version")
    parser.add_argument("--turns", type=int, default=0, help="prompts in the client's conversation")
    parser.add_argument("--always", action="store_true", help="from now on without asking")
    parser.add_argument("-C", "--project", default=None)
    parser.add_argument("--json", action="store_true")
    found = parser.parse_args(argv)
    found.command = "__plugin"
    return found
