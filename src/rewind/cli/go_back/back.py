"""Take back the last prompts. The conversation before them continues in a fork, beside the old session.

With --both the code comes back as well, as it was before the first of those prompts. The old session stays
as it is, and the code is saved first. To undo it: rewind undo-restore
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rewind.cli.go_back.plan_and_outcome import (
    add_outside_option,
    code_json,
    exit_code,
    outcome_json,
    plan_json,
    planned_fork,
    print_code,
    print_outside,
    tell_code,
    tell_what_next,
)
from rewind.cli.go_back.resume import add_resume_option, offer_resume
from rewind.cli.open_and_answer import Args, Parser, answer, note, open_controller, print_json
from rewind.cli.output.progress import ProgressLine
from rewind.cli.output.style import paint, path_json, with_reason
from rewind.controller import BeforePrompts, Controller
from rewind.errors import UsageError
from rewind.words import one_line, plural, quoted, safe, shortened

if TYPE_CHECKING:
    from typing import TypedDict, Union

    from rewind.checkpoint.rewind.outcome import Outcome
    from rewind.checkpoint.rewind.plan import Plan
    from rewind.cli.go_back.plan_and_outcome import CodeJson
    from rewind.cli.output.style import PathJson, PathWithReason

    Either = Union[Plan, Outcome]

    class BackCode(CodeJson):
        checkpoint: str
        exact: bool
        backup: str | None
        changedSince: list[PathJson]
        remaining: list[PathWithReason]

    class PromptJson(TypedDict):
        text: str
        offset: int
        uuid: str

    class BackJson(TypedDict):
        """What `back` says besides the shape of all commands that go back."""

        boundary: int | None
        prompts: list[PromptJson]
        code: BackCode | None

summary = "take back the last prompts; with --both, the code as well"
examples = ("rewind back                   # the conversation before the last prompt",
            "rewind back 2 --both          # code and conversation, two prompts back",
            "rewind back --both --dry-run", "rewind back --copy            # the prompt to the clipboard")
_LONGEST = 300


def arguments(parser: Parser) -> None:
    parser.add_argument("n", nargs="?", type=int, default=1, metavar="N",
                        help="how many prompts (default: 1)")
    parser.add_argument("--both", action="store_true", help="bring back the code as well")
    parser.add_argument("--in-place", action="store_true",
                        help="cut the session's own transcript instead of making a fork")
    add_outside_option(parser)
    parser.add_argument("--copy", action="store_true", help="put the prompts on the clipboard")
    parser.add_argument("--session", metavar="ID", help="a session, or the path of a transcript")
    parser.add_argument("--force", action="store_true",
                        help="proceed even if files changed, or the session is open")
    parser.add_argument("--dry-run", action="store_true", help="show what would happen, change nothing")
    add_resume_option(parser)


def run(args: Args) -> int:
    if args.outside and not args.both:
        raise UsageError("--outside brings files back together with the code.", hint="Add --both.")
    controller = open_controller(args)
    target, what = BeforePrompts(args.n, args.session), "both" if args.both else "conversation"
    if args.dry_run:
        plan = controller.plan(target, what, in_place=args.in_place, outside=args.outside)
        return answer(args, {**plan_json(plan), **_own_keys(plan), "notes": plan.all_notes()},
                      lambda: _show_plan(plan))
    with ProgressLine() as progress:
        outcome = controller.go(target, what, in_place=args.in_place, force=args.force,
                                outside=args.outside, progress=progress)
    command = ""
    if args.json:
        print_json({**outcome_json(outcome), **_own_keys(outcome)})
    else:
        command = _tell(controller, outcome)
    if args.copy:
        _copy(outcome)
    offer_resume(args, command)
    return exit_code(outcome)


def _own_keys(found: Either) -> BackJson:
    code: BackCode | None = None
    if found.record:
        backup = getattr(found, "backup", None)
        code = {"checkpoint": found.record.name, "exact": found.exact, **code_json(found.code),
                "backup": backup.name if backup else None,
                "changedSince": [path_json(p) for p in found.code.foreign] if found.code else [],
                "remaining": [with_reason(p, why) for p, why in getattr(found, "remaining", ())]}
    prompts: list[PromptJson] = [{"text": p.text, "offset": p.offset, "uuid": p.uuid} for p in found.prompts]
    return {"boundary": found.boundary, "prompts": prompts, "code": code}


def _show_plan(plan: Plan) -> None:
    _tell_prompts(plan, "to take back")
    if plan.code:
        print_code(plan.code)
        print_outside(plan)
    if plan.session:
        print(planned_fork(plan))
    for text in plan.all_notes():
        note(text)


def _tell(controller: Controller, outcome: Outcome) -> str:
    """The command that resumes the conversation."""
    note(_headline(controller, outcome))
    _tell_prompts(outcome, "taken back")
    if outcome.record:
        tell_code(outcome)
        if not outcome.complete:
            note(f"Some of the code could not be brought back from {outcome.record.name}")
        elif outcome.exact:
            note(f"The code is as it was in {outcome.record.name}")
    if outcome.conversation is None:
        print("The code was restored; the conversation starts over.")
    return tell_what_next(outcome, controller, "undo-restore")


def _headline(controller: Controller, found: Outcome) -> str:
    """`Back to before "Please clean up" (turn 4, 06:05)`"""
    if not found.prompts:
        return "Back to where the conversation was."
    first = found.prompts[0]
    turn, at = controller.asked(found)
    clock = time.strftime("%H:%M", time.localtime(at)) if at else ""
    facts = ", ".join(part for part in (f"turn {turn}" if turn else "", clock) if part)
    return f"Back to before {safe(quoted(first.text))}" + (f" ({facts})" if facts else "")


def _tell_prompts(found: Either, said: str) -> None:
    note(f"{plural(len(found.prompts), 'prompt')} {said}:")
    for prompt in found.prompts:
        note(f"  {paint('>', 'cyan', sys.stderr)} {shortened(one_line(prompt.text), _LONGEST)}")


def _copy(outcome: Outcome) -> None:
    from rewind.cli.output.clipboard import copy

    text = "\n\n".join(prompt.text for prompt in outcome.prompts)
    how = copy(text)
    if how:
        note(f"{plural(len(outcome.prompts), 'prompt')} copied to the clipboard ({how}).")
    else:
        note("No clipboard was found. This is the text:")
        note(safe(text) if "\n" not in text else "\n".join(safe(line) for line in text.split("\n")))
