"""Search your prompts in all conversations of this project.

Each match names the session and the turn, and the command that goes back to before that prompt. With --code,
the files of the checkpoints are searched instead, also for what was deleted since: each version of a file
once, in the newest checkpoint that has it.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args, Parser, answer, note, note_left_out, open_controller
from rewind.cli.output.style import paint, path_json
from rewind.controller import Controller, is_timestamp, timestamp
from rewind.errors import DONE, RewindError, UsageError
from rewind.words import age, and_more, plural, safe, shown

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.search.code import CodeFound
    from rewind.checkpoint.select.prompts import Found
    from rewind.cli.output.style import PathJson

    class CodeMatch(PathJson):
        number: int
        checkpoint: str
        line: int
        text: str

    class PromptMatch(TypedDict):
        session_id: str
        agent: str
        turn: int | None
        turns: int
        uuid: str
        offset: int
        timestamp: str | None
        prompt: str
        snippet: str
        command: str | None

summary = "search your prompts, or the code in checkpoints"
examples = ("rewind grep parser", 'rewind grep -i "clean up"', "rewind grep parser --session 3f2a9c11 --json",
            "rewind grep --code parse_header   # in the files of all checkpoints")
takes_text = True
may_be_empty = ("text",)  # `run` reports it
_AROUND = 40
_MOST = 500  # matches in code


def arguments(parser: Parser) -> None:
    parser.add_argument("text", metavar="TEXT", help="the text to search for (not a pattern)")
    parser.add_argument("-i", "--ignore-case", action="store_true", help="ignore case")
    parser.add_argument("--session", metavar="ID", help="only in one session: its id, or the beginning of it")
    parser.add_argument("--code", action="store_true", help="search the files of the checkpoints")


def run(args: Args) -> int:
    if not args.text.strip():
        raise UsageError("No text to search for.", hint="Run `rewind grep TEXT`.")
    if args.code and args.session:
        raise UsageError("--session and --code cannot be combined.", hint="Leave out one of them.")
    controller = open_controller(args)
    if args.code:
        return _search_code(controller, args)
    found = list(controller.search_prompts(args.text, session=args.session, any_case=args.ignore_case))
    return answer(args, {"matches": [_json(one, len(args.text)) for one in found]},
                  lambda: _print(found, len(args.text)) if found else _tell_no_match("prompt", args))


def _tell_no_match(what: str, args: Args) -> None:
    more = "" if args.ignore_case else " Use -i to ignore case."
    note(f'No {what} contains "{safe(args.text)}".{more}')


def _search_code(controller: Controller, args: Args) -> int:
    damaged: dict[str, RewindError] = {}
    found = list(islice(controller.search_code(args.text, any_case=args.ignore_case, damaged=damaged),
                        _MOST + 1))
    first = found[:_MOST]
    answer(args, {"matches": [_code_json(one) for one in first], "more": len(found) > _MOST},
           lambda: _print_code(first) if first else _tell_no_match("file of a checkpoint", args))
    if len(found) > _MOST:
        note(f"These are the first {_MOST:,}. Search for a longer text.")
    note_left_out(damaged)
    return DONE


def _print_code(found: list[CodeFound]) -> None:
    for one in found:
        print(f"{paint(f'{one.record.sequence:>4}', 'cyan')}  {age(one.record.created):>12}"
              f"  {shown(one.path)}:{one.line}: {safe(one.text)}")


def _code_json(found: CodeFound) -> CodeMatch:
    return {"number": found.record.sequence, "checkpoint": found.record.name, **path_json(found.path),
            "line": found.line, "text": found.text}


def command_to(found: Found) -> str:
    """The command that goes back to before that prompt; empty if there is none."""
    if found.turn is None:
        return ""
    return f"rewind back {found.total - found.turn + 1} --both --session {found.session.session_id[:8]}"


def _print(found: list[Found], length: int) -> None:
    now = time.time()
    others: dict[str, list[Found]] = {}  # a fork has its parent's prompts
    for one in found:
        others.setdefault(one.uuid, []).append(one)
    for first, *more in others.values():
        where = f"turn {first.turn} of {first.total}" if first.turn else "abandoned"
        print(f"{paint(first.session.session_id[:8], 'cyan')}  {where:<13}  {_when(first, now):>13}"
              f"  {_snippet(first, length, 'yellow')}")
        command = command_to(first)
        if command:
            print(f"{'':<10}{command}")
        if more:
            names = and_more([one.session.session_id[:8] for one in more], 3)
            print(paint(f"{'':<10}also in {plural(len(more), 'other session')}: {names}", "dim"))


def _when(found: Found, now: float) -> str:
    stamp = found.timestamp
    return age(timestamp(stamp), now) if stamp and is_timestamp(stamp) else ""


def _snippet(found: Found, length: int, style: str = "") -> str:
    text, at = found.prompt, found.at
    start, end = max(0, at - _AROUND), min(len(text), at + length + _AROUND)
    return (("…" if start else "") + safe(text[start:at]) + paint(safe(text[at:at + length]), style)
            + safe(text[at + length:end]) + ("…" if end < len(text) else ""))


def _json(found: Found, length: int) -> PromptMatch:
    return {"session_id": found.session.session_id, "agent": found.session.profile.name, "turn": found.turn,
            "turns": found.total, "uuid": found.uuid, "offset": found.offset, "timestamp": found.timestamp,
            "prompt": found.prompt, "snippet": _snippet(found, length),
            "command": command_to(found) or None}
