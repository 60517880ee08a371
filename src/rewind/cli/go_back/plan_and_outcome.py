"""How a plan and its outcome are shown; shared by every command that goes back or forward."""

from __future__ import annotations

import sys

from rewind.cli.go_back.resume import offer_resume, tell_resume
from rewind.cli.open_and_answer import Args, Parser, answer, note, print_json
from rewind.cli.output.change_lines import folded_text, painted
from rewind.cli.output.progress import ProgressLine
from rewind.cli.output.style import paint, path_json, with_reason
from rewind.errors import DONE, PARTIAL
from rewind.words import explain, plural, safe, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypedDict

    from rewind.checkpoint.conversations.bring_back import ConversationResult, MadeFork
    from rewind.checkpoint.records.record import Record
    from rewind.checkpoint.records.source import KeptPath
    from rewind.checkpoint.rewind.files.file_plan import RestorePlan
    from rewind.checkpoint.rewind.outcome import Outcome
    from rewind.checkpoint.rewind.plan import Plan
    from rewind.checkpoint.rewind.target import Target
    from rewind.cli.output.style import PathJson, PathWithReason
    from rewind.controller import Controller

    class Lines(TypedDict):
        first: int
        count: int

    class _Lines(TypedDict, total=False):
        lines: list[Lines]

    class Conflict(PathWithReason, _Lines):
        """`lines` is there in a merge."""

    class CodeJson(TypedDict):
        written: list[PathJson]
        deleted: list[PathJson]
        kept: list[PathWithReason]
        conflicts: list[Conflict]

    class OutsidePath(PathJson):
        action: str

    class InPlace(TypedDict):
        backup: str | None

    class OutcomeJson(CodeJson):
        operation: str | None
        checkpoint: str | None
        backup: str | None
        outside: list[OutsidePath]
        changedSince: list[PathJson]
        remaining: list[PathWithReason]
        session: str | None
        fork: MadeFork | None
        in_place: InPlace | None
        notes: list[str]
        dryRun: bool

    class PlanJson(OutcomeJson):
        digest: str


def add_outside_option(parser: Parser) -> None:
    parser.add_argument("--outside", action="store_true",
                        help="bring back files outside the project that the agent edited")


def common_arguments(parser: Parser) -> None:
    parser.add_argument("--force", action="store_true", help="proceed even if files changed")
    parser.add_argument("--dry-run", action="store_true", help="show what would happen, change nothing")


def go_to(args: Args, controller: Controller, target: Target, what: str = "both",
          **how: Any) -> Outcome | None:
    """Go there and return the outcome; with --dry-run, show the plan and return None."""
    if args.dry_run:
        plan = controller.plan(target, what, force=args.force, **how)
        answer(args, plan_json(plan), lambda: print_plan(plan))
        return None
    with ProgressLine() as progress:
        return controller.go(target, what, force=args.force, progress=progress, **how)


# a plan

def print_plan(plan: Plan) -> None:
    if plan.code:
        print_code(plan.code)
    else:
        print("The code stays as it is.")
    print_outside(plan)
    for text in _plan_notes(plan):
        print(text)


def print_outside(plan: Plan) -> None:
    if plan.outside:
        print("Outside the project:")
        for sign, path in plan.outside:
            print(painted(sign, shown(path)))


def planned_fork(plan: Plan) -> str:
    return f"Would {'cut' if plan.in_place else 'fork'} session {plan.session}" if plan.session else ""


def _plan_notes(plan: Plan) -> list[str]:
    return [*filter(None, (safe(plan.intention), planned_fork(plan))), *plan.all_notes()]


def plan_json(plan: Plan) -> PlanJson:
    return {**going_back_json(plan.record, plan.code, plan.outside), "session": plan.source,
            "notes": _plan_notes(plan), "digest": plan.digest, "dryRun": True}


def going_back_json(record: Record | None, code: RestorePlan | None,
                    outside: Iterable[tuple[str, bytes]] = ()) -> OutcomeJson:
    """The one shape of every command that goes back. What only some of them have is empty here."""
    return {"operation": None, "checkpoint": record.name if record else None, "backup": None,
            **code_json(code),
            "outside": [{**path_json(path), "action": "delete" if sign == "-" else "write"}
                        for sign, path in outside],
            "changedSince": [path_json(path) for path in code.foreign] if code else [],
            "remaining": [], "session": None, "fork": None, "in_place": None, "notes": [], "dryRun": False}


def code_json(code: RestorePlan | None) -> CodeJson:
    return {"written": [path_json(p) for p in code.written] if code else [],
            "deleted": [path_json(p) for p in code.deleted] if code else [],
            "kept": [with_reason(k.path, k.reason) for k in code.kept] if code else [],
            "conflicts": [conflict_json(k) for k in code.conflicts] if code else []}


def conflict_json(kept: KeptPath) -> Conflict:
    """In a merge, with the lines: the first one, counted from 1, and how many."""
    lines = getattr(kept, "lines", None)
    more: _Lines = {} if lines is None else {
        "lines": [{"first": first, "count": count} for first, count in lines]}
    return {**with_reason(kept.path, kept.reason), **more}


def print_code(code: RestorePlan) -> None:
    from rewind.controller import fold

    for sign, path, remark, count in fold(code.lines()):
        print(painted(sign, folded_text(path, remark, count)))
    print(code.summary() if code.empty else f"Plan: {code.counts()}, to match {code.checkpoint}")


# an outcome

def show_outcome(outcome: Outcome | None, args: Args, controller: Controller | None = None, *,
                 way_back: str = "undo-restore", alone: str = "",
                 headline: str = "Restored to {name}. Reload your agent session.") -> int:
    """Show what was done and return the exit code. `headline` says what was done; `alone` says it if only the
    conversation moved; with a `controller`, the person is told how to resume the conversation."""
    if outcome is None:
        return DONE  # a plan was shown
    if args.json:
        print_json(outcome_json(outcome))
        return exit_code(outcome)
    tell_code(outcome)
    record = outcome.record
    if record is None:
        if alone:
            print(alone)
    elif not outcome.operation and outcome.complete:
        print(f"Already as it was in {record.name}")
    else:
        count = len(outcome.plan.written) + len(outcome.plan.deleted)
        print(headline.format(name=record.name, paths=plural(count, "path")))
    command = tell_what_next(outcome, controller, way_back if outcome.operation else "")
    if controller:
        offer_resume(args, command)
    return exit_code(outcome)


def tell_what_next(outcome: Outcome, controller: Controller | None, way_back: str) -> str:
    """What became of the conversation, and how to continue or to undo; the command that resumes it."""
    tell_conversation(outcome.conversation)
    for text in outcome.notes:
        note(text)
    command = tell_resume(controller, outcome) if controller else ""
    if way_back:
        note(f"To undo: rewind {way_back}")
    return command


def exit_code(outcome: Outcome) -> int:
    """3 if something is not as the checkpoint has it."""
    return DONE if outcome.complete else PARTIAL


def outcome_json(outcome: Outcome) -> OutcomeJson:
    done = outcome.conversation
    return {**going_back_json(outcome.record, outcome.code, outcome.outside),
            "operation": outcome.operation or None,
            "backup": outcome.backup.name if outcome.backup else None,
            "remaining": [with_reason(path, reason) for path, reason in outcome.remaining],
            "session": outcome.session, "fork": done.fork if done else None,
            "in_place": {"backup": done.backup} if done and not done.fork else None,
            "notes": outcome.notes}


def tell_code(outcome: Outcome) -> None:
    """What happened to the files."""
    if outcome.plan.changes:
        note(outcome.plan.counts() + ".")
    for kept in outcome.plan.kept:
        if not kept.conflict:
            note(f"  kept {shown(kept.path)} ({explain(kept.reason)})")
    for path, reason in outcome.remaining:
        note(f"{paint('not restored:', 'yellow', sys.stderr)} {shown(path)} ({explain(reason)})")


def tell_conversation(done: ConversationResult | None) -> None:
    """What happened to the conversation; `resume` says how to go on with it."""
    if done is None:
        return
    if done.fork:
        print(f"Fork created: {done.fork['session_id']}")
    else:
        print("Chat rewritten in-place")
        if done.backup:
            note(f"The whole conversation is kept in {done.backup}")
