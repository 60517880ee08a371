"""Find a text in what you asked the agents, over all conversations of this project.

Each match names the session and the turn, and the command that goes back to before that prompt.
"""

from __future__ import annotations

import sys
import time

from rewind.cli.session import note, open_controller, print_json
from rewind.cli.style import age, safe, style_for
from rewind.errors import UsageError
from rewind.words import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from rewind.checkpoint.prompt_search import Found
    from rewind.cli.style import Paint

summary = "find a text in your prompts, and the way back to there"
examples = ("rewind grep parser", 'rewind grep -i "clean up"', "rewind grep parser --session 3f2a9c11 --json")
takes_text = True
may_be_empty = ("text",)  # told below
_AROUND = 40


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help="the text to look for, as it is: no pattern")
    parser.add_argument("-i", "--ignore-case", action="store_true", help="upper and lower case are the same")
    parser.add_argument("--session", metavar="ID", help="only in one session, by its id or its beginning")


def run(args: argparse.Namespace) -> int:
    if not args.text.strip():
        raise UsageError("There is nothing to look for.", hint="Run `rewind grep TEXT`.")
    controller = open_controller(args)
    found = list(controller.search_prompts(args.text, session=args.session, any_case=args.ignore_case))
    if args.json:
        print_json({"matches": [_json(one, len(args.text)) for one in found]})
    elif found:
        _print(found, len(args.text))
    else:
        more = "" if args.ignore_case else " With -i, upper and lower case are the same."
        note(f"No prompt says that.{more}")
    return 0


def command_to(found: Found) -> str:
    """To before that prompt; empty where nothing leads there."""
    if found.turn is None:
        return ""
    return f"rewind back {found.total - found.turn + 1} --both --session {found.session.session_id[:8]}"


def _print(found: list[Found], length: int) -> None:
    paint = style_for(sys.stdout)
    now = time.time()
    others: dict[str, list[Found]] = {}  # a fork has its parent's prompts
    for one in found:
        others.setdefault(one.uuid, []).append(one)
    for first, *more in others.values():
        where = f"turn {first.turn} of {first.total}" if first.turn else "abandoned"
        print(f"{paint(first.session.session_id[:8], 'cyan')}  {where:<13}  {_when(first, now):>13}"
              f"  {_snippet(first, length, paint)}")
        command = command_to(first)
        if command:
            print(f"{'':<10}{command}")
        if more:
            names = ", ".join(one.session.session_id[:8] for one in more[:3])
            rest = f" and {len(more) - 3} more" if len(more) > 3 else ""
            print(paint(f"{'':<10}also in {plural(len(more), 'other session')}: {names}{rest}", "dim"))


def _when(found: Found, now: float) -> str:
    from rewind.controller import is_timestamp, timestamp

    told = found.timestamp
    return age(timestamp(told), now) if told and is_timestamp(told) else ""


def _snippet(found: Found, length: int, paint: Paint) -> str:
    text, at = found.prompt, found.at
    start, end = max(0, at - _AROUND), min(len(text), at + length + _AROUND)
    return (("…" if start else "") + safe(text[start:at]) + paint(safe(text[at:at + length]), "yellow")
            + safe(text[at + length:end]) + ("…" if end < len(text) else ""))


def _json(found: Found, length: int) -> dict[str, Any]:
    return {"session_id": found.session.session_id, "agent": found.session.profile.name, "turn": found.turn,
            "turns": found.total, "uuid": found.uuid, "offset": found.offset, "timestamp": found.timestamp,
            "prompt": found.prompt, "snippet": _snippet(found, length, lambda text, style: text),
            "command": command_to(found) or None}
