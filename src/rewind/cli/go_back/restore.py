"""Bring the project back to a checkpoint: its code, and its conversation as a fork.

The current state is saved first, so this can be undone. Files that came later are deleted, except those
that git ignores; what was never captured is left alone. The agent's session stays as it is: the
conversation comes back as a new one beside it.
"""

from __future__ import annotations

from rewind.cli.go_back.plan_and_outcome import (
    add_outside_option,
    common_arguments,
    go_to,
    going_back_json,
    show_outcome,
)
from rewind.cli.go_back.resume import add_resume_option
from rewind.cli.open_and_answer import Args, Parser, answer, note, open_controller
from rewind.cli.output.change_lines import painted
from rewind.cli.output.progress import ProgressLine
from rewind.cli.output.style import path_json, with_reason
from rewind.cli.parse.arguments import SELECTOR, project_paths
from rewind.controller import AtCheckpoint, Controller
from rewind.errors import DONE, PARTIAL, UsageError
from rewind.words import explain, plural, safe, shown

summary = "bring the project back to a checkpoint"
summaries = {"jump": "the same as restore"}
examples = ("rewind restore 12             # the number that `rewind list` shows",
            "rewind restore t4 --dry-run   # before turn 4; look before you leap",
            "rewind restore 10m --code-only", "rewind restore prev -- src/app.py",
            "rewind restore 20261115_1015 --to ../old-version")
takes_paths = True


def arguments(parser: Parser) -> None:
    parser.add_argument("checkpoint", help=SELECTOR)
    parser.add_argument("--code-only", action="store_true", help="restore the code, not the conversation")
    parser.add_argument("--context-only", action="store_true", help="restore the conversation, not the code")
    parser.add_argument("--in-place", action="store_true",
                        help="cut the session's own transcript instead of making a fork")
    parser.add_argument("--to", metavar="DIR", help="write the files into DIR instead; touch nothing here")
    parser.add_argument("--skip-missing", action="store_true",
                        help="restore only the intact files of a damaged checkpoint")
    add_outside_option(parser)
    common_arguments(parser)
    add_resume_option(parser)


def run(args: Args) -> int:
    controller = open_controller(args)
    paths = project_paths(args.paths, controller.project)
    mode = _mode(args)
    if args.to:
        return _write_to(args, controller, paths)
    chosen = controller.select(args.checkpoint)
    if chosen.note:
        note(chosen.note)
    outcome = go_to(args, controller, AtCheckpoint(chosen.record.name, paths), mode, in_place=args.in_place,
                    skip_missing=args.skip_missing, outside=args.outside)
    headline = {"headline": "Restored {paths} from {name}"} if paths else {}
    return show_outcome(outcome, args, controller, **headline)


def _mode(args: Args) -> str:
    if args.code_only and args.context_only:
        raise UsageError("--code-only and --context-only exclude each other.",
                         hint="Without either, both are restored.")
    if args.context_only and (args.paths or args.to):
        raise UsageError("--context-only restores no files.", hint="Leave out the paths and --to.")
    if args.outside and args.to:
        raise UsageError("--to writes nothing outside its directory.", hint="Leave out --outside.")
    if args.in_place and (args.code_only or args.paths or args.to):
        raise UsageError("--in-place rewrites the conversation, which --code-only leaves alone.",
                         hint="Leave out --in-place.")
    return "code" if args.code_only else "conversation" if args.context_only else "both"


def _write_to(args: Args, controller: Controller, paths: list[bytes] | None) -> int:
    record = controller.find(args.checkpoint)
    left_out: list[bytes] | None = [] if args.skip_missing else None
    if args.dry_run:
        written = controller.plan_write_to(record.name, args.to, paths=paths, left_out=left_out)
    else:
        with ProgressLine() as progress:
            written = controller.write_to(record.name, args.to, paths=paths, left_out=left_out,
                                          progress=progress)
    return answer(args, {**going_back_json(record, None), "to": args.to,
                         "written": [path_json(path) for path in written],
                         "remaining": [with_reason(path, "missing") for path in left_out or ()],
                         "dryRun": args.dry_run},
                  lambda: _tell_written(args, record.name, written, left_out or []),
                  code=PARTIAL if left_out else DONE)


def _tell_written(args: Args, name: str, written: list[bytes], left_out: list[bytes]) -> None:
    for path in left_out:
        note(f"not restored: {shown(path)} ({explain('missing')})")
    if args.dry_run:
        for path in written:
            print(painted("+", shown(path)))
    would = "Would write" if args.dry_run else "Wrote"
    print(f"{would} {plural(len(written), 'path')} of {name} into {safe(args.to)}")
