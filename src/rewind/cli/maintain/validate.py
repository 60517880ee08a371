"""Check the configuration, the history and every checkpoint, and repair what is damaged.

Without `--deep`: whether everything is there. With it, all content is read and compared with its
hash, which takes time in a large store. With `--repair`, what is damaged is brought back from wherever
another copy is: the project's files, the transcripts, archives, what is left in the store. What has none is
moved to `quarantine/`, and the checkpoints that need it are marked as incomplete; they can still be
restored in part, and are whole again once the same content turns up in the project.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args, Parser, note, open_controller, print_json
from rewind.cli.output.ask import ask_yes, require_yes
from rewind.cli.output.progress import ProgressLine
from rewind.cli.output.style import paint, path_json
from rewind.controller import Controller
from rewind.errors import DAMAGED, DONE, FAILED, PARTIAL, UsageError
from rewind.words import plural, safe, shown

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.project.damage import MissingContent
    from rewind.checkpoint.repair.check_records import Problem
    from rewind.checkpoint.repair.repair import Repaired
    from rewind.cli.output.style import PathJson

    class Affected(TypedDict):
        checkpoint: str
        files: int
        paths: list[PathJson]
        chat: str

summary = "check every checkpoint, and repair what is damaged"
examples = ("rewind validate", "rewind validate --deep        # read everything",
            "rewind validate --deep --repair --dry-run", "rewind validate --deep --repair",
            "rewind validate --deep --repair --from old.tar.gz")
_SHOWN = 20


def arguments(parser: Parser) -> None:
    parser.add_argument("--deep", action="store_true", help="read all content and check its hashes")
    parser.add_argument("--repair", action="store_true",
                        help="with --deep: recover what has another copy, quarantine the rest")
    parser.add_argument("--from", metavar="FILE", action="append", default=[], dest="copies",
                        help="with --repair: also look in this exported checkpoint")
    parser.add_argument("--dry-run", action="store_true", help="with --repair: only say what would be done")
    parser.add_argument("--yes", action="store_true", help="with --repair: do not ask for confirmation")


def run(args: Args) -> int:
    _check(args)
    controller = open_controller(args, forgiving=True)
    if args.repair:
        return _repair(args, controller)
    with ProgressLine() as progress:
        found = controller.examine(deep=args.deep, progress=progress)
    code = _exit_code(found.problems)
    if args.json:
        print_json({"ok": not found.problems, "problems": _texts(found.problems), "deep": args.deep,
                    "affected": _affected(found.affected)})
        return code
    _print_problems(found.problems)
    if found.problems:
        note(f"{plural(len(found.problems), 'problem')} found.")
        if code == DAMAGED:
            note("`rewind validate --deep --repair` brings back what has another copy.")
    else:
        _print_ok(controller, args.deep)
    return code


def _check(args: Args) -> None:
    if args.repair and not args.deep:
        raise UsageError("--repair requires --deep.",
                         hint="rewind validate --deep --repair")
    if (args.dry_run or args.copies or args.yes) and not args.repair:
        raise UsageError("--dry-run, --yes and --from require --repair.",
                         hint="rewind validate --deep --repair --dry-run")
    for path in args.copies:
        if not os.path.isfile(path):
            raise UsageError(f"There is no file {path}", hint="Name a file that `rewind export` wrote.")
    if args.repair and not (args.dry_run or args.yes):
        require_yes(args.json)


def _repair(args: Args, controller: Controller) -> int:
    if not (args.dry_run or args.yes) and not _is_wanted(args, controller):
        note("Nothing was changed.")
        return DAMAGED
    with ProgressLine() as progress:
        done = controller.repair(dry_run=args.dry_run, copies=args.copies, progress=progress)
    code = _repair_code(args, done)
    if args.json:
        print_json({"ok": not done.problems if args.dry_run else done.complete,
                    "problems": _texts(done.problems),
                    "deep": True, "affected": _affected(done.affected),
                    "rescued": [{"what": what, "how": how} for what, how in done.rescued],
                    "lost": _affected(done.lost), "quarantined": done.quarantined,
                    "remaining": _texts(done.remaining), "dryRun": args.dry_run})
        return code
    _print_problems(done.problems)
    if not done.problems:
        _print_ok(controller, True)
        return code
    _print_repaired(done, args.dry_run)
    return code


def _is_wanted(args: Args, controller: Controller) -> bool:
    """The person has seen what would be changed, and agrees; or there is nothing to agree to."""
    with ProgressLine() as progress:
        would = controller.repair(dry_run=True, copies=args.copies, progress=progress)
    if not would.problems:
        return True
    _print_problems(would.problems)
    _print_repaired(would, dry_run=True)
    return ask_yes("Repair this now? What is replaced is kept in quarantine/.", default=True)


def _repair_code(args: Args, done: Repaired) -> int:
    if args.dry_run:
        return _exit_code(done.problems)
    return _exit_code(done.remaining) or (PARTIAL if done.lost else DONE)


def _print_repaired(done: Repaired, dry_run: bool) -> None:
    for what, how in done.rescued:
        print(f"{paint('+', 'green')} {safe(what)}: {safe(how)}")
    for name, missing in sorted(done.lost.items()):
        print(f"{paint('-', 'red')} {name} is incomplete: {missing.text}")
        for path in missing.paths[:_SHOWN]:
            print(f"    {shown(path) or 'the whole tree'}")
    _print_problems(done.remaining)
    if done.quarantined and not dry_run:
        note(f"Moved {plural(len(done.quarantined), 'damaged part')} to quarantine/ in the state directory.")
    verb = "would be repaired" if dry_run else "repaired"
    print(f"{plural(len(done.rescued), 'part')} {verb}; incomplete checkpoints: {len(done.lost):,}")


def _print_problems(problems: list[Problem]) -> None:
    for problem in problems:
        print(f"{paint('!', 'red')} {safe(problem.text)}")


def _texts(problems: list[Problem]) -> list[str]:
    return [problem.text for problem in problems]


def _print_ok(controller: Controller, deep: bool) -> None:
    count = len(controller.list_checkpoints(backups=True))
    print(f"{paint('ok', 'green')}: {plural(count, 'checkpoint')}" + (", all content read" if deep else ""))


def _affected(found: dict[str, MissingContent]) -> list[Affected]:
    return [{"checkpoint": name, "files": missing.files, "paths": [path_json(p) for p in missing.paths],
             "chat": missing.conversation} for name, missing in sorted(found.items())]


def _exit_code(problems: list[Problem]) -> int:
    """Problems with the configuration and interrupted operations are no damage."""
    if not problems:
        return DONE
    return DAMAGED if any(problem.is_damage for problem in problems) else FAILED
