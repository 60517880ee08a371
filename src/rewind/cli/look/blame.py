"""Show for each line of a file which turn wrote it: the turn, its age, and the first words of the prompt.

`you` is a line that was edited between two turns, `git` one that is older than the first checkpoint and was
committed. What a turn changed through shell commands counts as well. Renames are followed. Without a
checkpoint the file is taken as it is now; lines that no checkpoint has yet are marked with `*`.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args, Parser, answer, note_left_out, open_controller
from rewind.cli.output.columns import cells, cut
from rewind.cli.output.pager import add_pager_option, paged
from rewind.cli.output.style import paint, path_json, visible
from rewind.cli.parse.arguments import project_path
from rewind.errors import DONE, UsageError
from rewind.words import age, safe

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.turns.blame.blame import Blame, BlamedLine

    class _Was(TypedDict, total=False):
        was: str

    class LineJson(_Was):
        """`was` is the path in that checkpoint, if it was another one."""

        line: int
        who: str
        session: str | None
        turn: int | None
        checkpoint: str | None
        prompt: str | None
        commit: str | None
        time: float | None
        saved: bool
        text: str

summary = "show which turn wrote each line of a file"
examples = ("rewind blame src/app.py", "rewind blame src/app.py -L 40,60",
            "rewind blame src/app.py last       # as the newest checkpoint has it",
            "rewind blame src/app.py --json")
takes_text = True
_WORDS = 32  # characters of a prompt
_COLOURS = {"agent": "cyan", "you": "yellow", "git": "dim"}


def arguments(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file of the project")
    parser.add_argument("checkpoint", nargs="?", help="the file as this checkpoint has it")
    parser.add_argument("-L", "--lines", metavar="A,B",
                        help="only the lines A to B; `A,+N` for N lines, `A,` to the end")
    add_pager_option(parser)


def run(args: Args) -> int:
    first, last = _range(args.lines)
    controller = open_controller(args)
    path = project_path(args.file, controller.project)
    found = controller.blame(path, args.checkpoint, first=first, last=last)
    with paged(args):
        answer(args, {**path_json(path), "lines": [_json(line, path) for line in found.lines]},
               lambda: _print(found))
    note_left_out(found.damaged)
    return DONE


def _range(text: str | None) -> tuple[int | None, int | None]:
    if text is None:
        return None, None
    match = re.fullmatch(r"([0-9]{0,9})(?:(,)(\+?)([0-9]{0,9}))?", text)
    if not match or not re.search("[0-9]", text) or (match[3] and not match[4]):
        raise UsageError(f"Not a range of lines: {text}",
                         hint="`-L 10,20` are the lines 10 to 20, `-L 10,+5` five lines from there.")
    first = int(match[1]) if match[1] else 1
    if not match[4]:
        return first, None
    last = first + int(match[4]) - 1 if match[3] else int(match[4])
    if first < 1 or last < 1 or (match[3] and last < first):
        raise UsageError(f"Lines count from 1: {text}", hint="For example: -L 10,20")
    return first, last


def _print(found: Blame) -> None:
    now = time.time()
    sessions = {line.author.session for line in found.lines if line.author.session}
    rows = [(line.name(len(sessions) > 1), "now" if line.time is None else age(line.time, now),
             cut(safe(line.words), _WORDS)) for line in found.lines]
    widths = [max((cells(row[n]) for row in rows), default=0) for n in range(3)]
    digits = len(str(found.lines[-1].number)) if found.lines else 1
    for line, row in zip(found.lines, rows):
        who, when, words = (text + " " * (width - cells(text)) for text, width in zip(row, widths))
        print(_row(line, who, when, words, digits))


def _row(line: BlamedLine, who: str, when: str, words: str, digits: int) -> str:
    text = visible(line.text.rstrip(b"\r\n"))
    return (f"{paint(who, _COLOURS[line.who])}  {paint(when, 'dim')}  {words}"
            f"  {paint(f'{line.number:>{digits}}', 'dim')}  {text}".rstrip())


def _json(line: BlamedLine, path: bytes) -> LineJson:
    author, record, commit = line.author, line.record, line.commit
    renamed: _Was = {} if line.path == path else {"was": path_json(line.path)["path"]}
    return {"line": line.number, "who": line.who, "session": author.session, "turn": author.turn,
            "checkpoint": record.name if record and not commit else None, "prompt": author.prompt or None,
            "commit": commit.id if commit else None, "time": line.time,
            "saved": record is not None, **renamed,
            "text": line.text.rstrip(b"\r\n").decode("utf-8", "replace")}
