"""Find the turn that broke a command, by trying checkpoints on the line of the project.

`run` tries the newest checkpoint and goes back in growing steps to one that works, then halves what lies
between. The command works with exit code 0, fails with 1 to 124, and cannot tell with 125; any other code
stops the search. `log` prints what the last search tried. `replay` searches again with such a log, and runs
the command only where the log has no answer.

Each checkpoint is written into a directory of its own, and the project is not touched. What no checkpoint
holds, such as node_modules, is linked in. With --in-place the files of the project itself are changed: they
are backed up first, and come back at the end, also after Ctrl-C; if the process is killed, the next command
brings them back.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args, Parser, answer, note, open_controller, verbosity
from rewind.cli.output.style import paint, path_json
from rewind.controller import Controller, read_log
from rewind.errors import DONE, PARTIAL, UsageError
from rewind.words import age, plural, quoted, safe, shown

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.changes.turn_changes import Changes
    from rewind.checkpoint.records.record import Record
    from rewind.checkpoint.turns.bisect.bisect import Bisected

    class BisectJson(TypedDict):
        session: str | None
        turn: int | None
        checkpoint: str
        prompt: str | None
        runs: int
        who: str
        good: str
        skipped: list[str]
        changes: Changes | None
        revert: str
        restore: str

summary = "find the turn that broke a command"
examples = ("rewind bisect run -- make test", "rewind bisect run --good t3 -- pytest tests/test_login.py",
            "rewind bisect run --in-place -- npm test", "rewind bisect log > tried.log",
            "rewind bisect replay tried.log")
takes_paths = True  # the words behind `--`, which are the command
rest = "CMD ..."
_ACTIONS = ("run", "log", "replay")
_FIRST = 10


def arguments(parser: Parser) -> None:
    parser.add_argument("action", choices=_ACTIONS, help="what to do")
    parser.add_argument("file", nargs="?", metavar="FILE", help="the log to replay")
    parser.add_argument("--good", metavar="S", help="a checkpoint where it works; `t4`: before turn 4")
    parser.add_argument("--bad", metavar="S", help="one where it fails; `t4+`: after turn 4")
    parser.add_argument("--in-place", action="store_true", help="try them in the project itself")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be searched")
    parser.add_argument("--force", action="store_true",
                        help="with --in-place: also while an agent is working")


def run(args: Args) -> int:
    command: list[str] = args.paths or []
    _check(args, command)
    controller = open_controller(args)
    if args.action == "log":
        return _log(args, controller)
    known = None
    if args.action == "replay":
        known = read_log(args.file)
    if args.dry_run:
        return _dry_run(args, controller)
    found = controller.bisect(command, good=args.good, bad=args.bad, known=known,
                              below=_below(controller), in_place=args.in_place, force=args.force,
                              quiet=verbosity.quiet, progress=_tell_run)
    return answer(args, _json(found), lambda: _print(found), code=PARTIAL if found.skipped else DONE)


def _check(args: Args, command: Sequence[str]) -> None:
    if (args.action == "replay") != bool(args.file):
        raise UsageError("`rewind bisect replay` needs a log." if args.action == "replay" else
                         f"`rewind bisect {args.action}` takes no file: {args.file}",
                         hint="Put `--` before the command: rewind bisect run -- make test")
    if args.action == "run" and not command:
        raise UsageError("No command follows `--`.", hint="For example: rewind bisect run -- make test")
    if args.action == "log" and (command or args.good or args.bad or args.in_place or args.dry_run):
        raise UsageError("`rewind bisect log` takes no options.",
                         hint="For example: rewind bisect log > FILE")
    if args.force and not args.in_place:
        raise UsageError("--force makes a difference with --in-place only.", hint="Leave it out.")


def _dry_run(args: Args, controller: Controller) -> int:
    states, linked = controller.plan_bisect(good=args.good, bad=args.bad, in_place=args.in_place)
    count = plural(len(states), "checkpoint")
    lines = [f"Would search {count} with different code, {states[0].name} to {states[-1].name}",
             *(f"  linked in from the project: {shown(path)}" for path in linked)]
    return answer(args, {"checkpoints": [record.name for record in states], "dryRun": True,
                         "linked": [path_json(path) for path in linked]}, "\n".join(lines))


def _log(args: Args, controller: Controller) -> int:
    lines = controller.bisect_log().splitlines()
    return answer(args, {"log": lines}, "\n".join(safe(line) for line in lines))


def _below(controller: Controller) -> str:
    """The current directory, relative to the project."""
    root = os.path.realpath(controller.project.root)
    here = os.path.realpath(os.getcwd())
    return here[len(root):].lstrip("/") if here.startswith(root + "/") else ""


def _tell_run(record: Record, number: int, left: int) -> None:
    more = "looking for one that works" if left < 0 else f"at most {left} more" if left else "the last one"
    about = f"  {safe(record.description)}" if record.description else ""
    note(f"Run {number} ({more}): {record.name}{about}")


def _print(found: Bisected) -> None:
    author = found.author
    when = age(found.bad.created)
    if found.skipped:
        print(f"The first bad checkpoint is one of {len(found.skipped) + 1}: the others could not be tried.")
        for record in found.skipped:
            print(f"  {paint(record.name, 'yellow')}  {safe(record.description)}".rstrip())
    elif author.kind == "agent":
        turn = f"turn {author.turn}" if author.turn else "a turn"
        session = safe(author.session or "a session")[:8]
        print(f"Broken by {turn} of {session}, {when}: {safe(quoted(author.prompt))}")
    else:
        print(f"Broken by a change of yours, {when}: {safe(quoted(found.bad.description))}")
    print(f"  first bad   {paint(found.bad.name, 'red')}")
    print(f"  last good   {paint(found.good.name, 'green')}")
    _print_changes(found)
    _tell_what_next(found)


def _print_changes(found: Bisected) -> None:
    changes = found.changes or {"files": [], "more": 0}
    for file in changes["files"][:_FIRST]:
        lines = "" if file["added"] is None else f"  +{file['added']} -{file['removed']}"
        print(f"  {file['status']:<10}  {safe(file['path'])}{lines}")
    more = len(changes["files"]) - _FIRST + changes["more"]
    if more > 0:
        print(f"  … and {more:,} more")


def _tell_what_next(found: Bisected) -> None:
    note(f"Found with {plural(found.runs, 'run')}.\n"
         f"To see the change:     rewind diff {found.good.name} {found.bad.name}\n"
         f"To take it back:       rewind revert {_named(found)}\n"
         f"To go back before it:  rewind restore {found.good.name}")


def _named(found: Bisected) -> str:
    """The name that `revert` takes: the turn if there is one."""
    author = found.author
    return f"{(author.session or '')[:8]}:t{author.turn}" if author.turn else found.span


def _json(found: Bisected) -> BisectJson:
    author = found.author
    return {"session": author.session, "turn": author.turn, "checkpoint": found.bad.name,
            "prompt": author.prompt or None, "runs": found.runs, "who": author.kind,
            "good": found.good.name, "skipped": [record.name for record in found.skipped],
            "changes": found.changes, "revert": f"rewind revert {_named(found)}",
            "restore": f"rewind restore {found.good.name}"}
