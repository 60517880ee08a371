"""What `revert`, `apply` and `forks adopt` share: the options of a merge, its plan and its outcome."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rewind.cli.go_back.plan_and_outcome import (
    common_arguments,
    conflict_json,
    outcome_json,
    plan_json,
    tell_conversation,
)
from rewind.cli.open_and_answer import Args, Parser, note, open_controller, print_json
from rewind.cli.output.change_lines import folded_text, painted
from rewind.cli.output.progress import ProgressLine
from rewind.cli.output.style import paint
from rewind.cli.parse.arguments import project_paths
from rewind.errors import DONE, PARTIAL, UsageError
from rewind.words import plural, safe, shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Optional, TypedDict

    from rewind.checkpoint.records.source import KeptPath
    from rewind.checkpoint.rewind.files.file_plan import RestorePlan
    from rewind.checkpoint.rewind.outcome import Outcome
    from rewind.checkpoint.rewind.plan import Plan
    from rewind.checkpoint.rewind.target import Target
    from rewind.cli.go_back.plan_and_outcome import Conflict
    from rewind.controller import Controller

    MakeTarget = Callable[[Optional[list[bytes]], str], Target]

    class SettledJson(TypedDict):
        settled: list[Conflict]
        how: str | None

_MARKERS = "markers"
_HOW = (_MARKERS, "ours", "theirs")
_SETTLED = {_MARKERS: "marked in the file", "ours": "kept as it is now", "theirs": "taken from there"}
_VERBS = {"revert": ("revert", "Reverted"), "apply": ("apply", "Applied"), "forks": ("adopt", "Adopted")}
_TAKE_PATHS = ("revert", "apply")
_RESOLVE = "To resolve them: --markers, --ours or --theirs."
_LEAVE_OUT = " To leave them out: name other paths after `--`."


def merge_arguments(parser: Parser, theirs: str) -> None:
    parser.add_argument("--markers", action="store_true", help="write conflict markers into text files")
    parser.add_argument("--ours", action="store_true", help="in conflicts, keep what is there now")
    parser.add_argument("--theirs", action="store_true", help=f"in conflicts, take what is {theirs}")
    parser.add_argument("--copy", action="store_true", help="put the note for the agent on the clipboard")
    common_arguments(parser)


def run_merge(args: Args, target: MakeTarget) -> int:
    controller = open_controller(args)
    paths = project_paths(args.paths, controller.project)
    return _merge(args, controller, target(paths, _how(args)), "code")


def run_adopt(args: Args, controller: Controller, target: Callable[[str], Target]) -> int:
    args.copy = False
    return _merge(args, controller, target(_how(args)), "code" if args.code_only else "both")


def _merge(args: Args, controller: Controller, wanted: Target, what: str) -> int:
    if args.dry_run:
        return _show_plan(controller.plan(wanted, what), args)
    with ProgressLine() as progress:
        outcome = controller.go(wanted, what, force=args.force, progress=progress)
    code = _show_outcome(outcome, args)
    if not args.json:
        tell_conversation(outcome.conversation)
        if outcome.resume:
            note(f"To continue it here: {outcome.resume}")
    return code


def _how(args: Args) -> str:
    chosen = [how for how in _HOW if getattr(args, how)]
    if len(chosen) > 1:
        raise UsageError(f"--{chosen[0]} and --{chosen[1]} exclude each other.", hint="Give one of them.")
    return chosen[0] if chosen else ""


def _exit_code(code: RestorePlan | None, args: Args) -> int:
    """3 if there are conflicts: nothing was written, or there are markers to resolve."""
    unsettled = bool(code and (code.conflicts or (code.settled and _how(args) == _MARKERS)))
    return PARTIAL if unsettled else DONE


def _settled_json(code: RestorePlan | None, args: Args) -> SettledJson:
    settled = [conflict_json(kept) for kept in code.settled] if code else []
    return {"settled": settled, "how": _how(args) or None}


# a plan

def _show_plan(plan: Plan, args: Args) -> int:
    if args.json:
        print_json({**plan_json(plan), "checkpoint": None, "about": plan.about, "note": None,
                    **_settled_json(plan.code, args)})
    elif plan.code:
        _print_paths(plan.code)
        for text in plan.all_notes():
            print(text)
        _print_settled(plan.code.settled, args)
        print(_sum_up(plan.code, args, safe(plan.about)))
    return _exit_code(plan.code, args)


def _print_paths(code: RestorePlan) -> None:
    conflicts = {kept.path for kept in code.conflicts}
    for sign, path, remark in code.lines():
        sign = "!" if sign == "=" and path in conflicts else sign
        print(painted(sign, folded_text(path, remark, 0)))


def _sum_up(code: RestorePlan, args: Args, about: str) -> str:
    if code.conflicts:
        return f"{plural(len(code.conflicts), 'conflict')}, so nothing would be written. {_ways(args)}"
    if not code.changes:
        return _nothing(args, about)
    return f"Plan: {_VERBS[args.command][0]} {about}: {code.counts()}"


def _ways(args: Args) -> str:
    return _RESOLVE + (_LEAVE_OUT if args.command in _TAKE_PATHS else "")


def _nothing(args: Args, about: str) -> str:
    return f"Nothing to revert: the code is as it would be without {about}" if (
        args.command == "revert") else f"Nothing to {_VERBS[args.command][0]}: the code has all of {about}"


# an outcome

def _show_outcome(outcome: Outcome, args: Args) -> int:
    code = outcome.plan
    failed = [one for one in outcome.remaining if one[0] not in {kept.path for kept in code.conflicts}]
    if args.json:
        done = bool(outcome.operation)
        print_json({**outcome_json(outcome), **({} if done else {"checkpoint": None}), "about": outcome.about,
                    "note": outcome.for_agent or None, **_settled_json(code, args)})
    elif not outcome.operation:
        _tell_nothing_done(outcome, args)
    else:
        _tell_done(outcome, args, failed)
    return PARTIAL if failed else _exit_code(code, args)


def _tell_nothing_done(outcome: Outcome, args: Args) -> None:
    code = outcome.plan
    if not code.conflicts:
        print(_nothing(args, safe(outcome.about)))
        return
    for kept in code.conflicts:
        note(f"{paint('!', 'red', sys.stderr)} {shown(kept.path)}  ({kept.remark()})")
    note(_ways(args))
    print(f"{plural(len(code.conflicts), 'conflict')}: nothing was written.")


def _tell_done(outcome: Outcome, args: Args, failed: list[tuple[bytes, str]]) -> None:
    note(outcome.plan.counts() + ".")
    for kept in outcome.plan.kept:
        note(f"  {shown(kept.path)} ({kept.remark()})")
    for path, reason in failed:
        note(f"not done: {shown(path)} ({reason})")
    _print_settled(outcome.plan.settled, args, note)
    print(f"{_VERBS[args.command][1]} {safe(outcome.about)}")
    for text in outcome.notes:
        note(text)
    _offer_note(outcome.for_agent, args.copy)
    note("To undo: rewind undo-restore")


def _print_settled(settled: list[KeptPath], args: Args,
                   tell: Callable[[str], None] = print) -> None:
    for kept in settled:
        tell(f"{shown(kept.path)} ({kept.remark()}): {_SETTLED[_how(args)]}")


def _offer_note(text: str, wants_copy: bool) -> None:
    if not text:
        return
    if wants_copy:
        from rewind.cli.output.clipboard import copy

        if copy(text):
            note("The note for the agent is on the clipboard.")
            return
    note("The agent does not know about this. To tell it, paste:")
    note(f"  {safe(text)}")
