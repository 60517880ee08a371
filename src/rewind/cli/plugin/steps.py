"""Going back from inside the client: by a number of prompts, to a turn, or after the client's own rewind; and
forward again."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from rewind.cli.output.patch import patch, readable
from rewind.cli.plugin.plans import counts, outcome_answer, plan_answer, quoted
from rewind.controller import (
    BOTH,
    CODE,
    CONFIG_FILE,
    CONVERSATION,
    AtTurn,
    BeforeOperation,
    BeforePrompts,
    Controller,
    set_value,
)
from rewind.errors import UsageError
from rewind.words import plural, safe

if TYPE_CHECKING:
    from rewind.checkpoint.operation_log.operations import Operation
    from rewind.checkpoint.rewind.plan import Plan
    from rewind.checkpoint.rewind.target import Target
    from rewind.cli.plugin.plans import OutcomeAnswer, PlanAnswer

    class GoBackPlan(PlanAnswer):
        checkpoint: str  # empty where no file would change

FOLLOW = "plugin.followRewind"
_MOST_LINES = 300  # of a diff, in a pane
_LONGEST = 300


# /goback [n] [--chat]

def goback(controller: Controller, asked: Any) -> Mapping[str, object]:
    n, what = _typed(asked.typed)
    target = BeforePrompts(n + asked.gone, asked.session)
    return _go(controller, asked, target, what) if asked.digest else _ask(controller, target, what)


def _typed(text: str) -> tuple[int, str]:
    words = text.split()
    numbers = [word for word in words if word != "--chat"]
    number = numbers[0] if numbers else "1"
    if len(numbers) > 1 or len(words) - len(numbers) > 1 or not (number.isascii() and number.isdigit()) \
            or not 1 <= int(number[:9]) <= 1_000_000:
        raise UsageError("How many prompts?", hint="/goback, /goback 2, or /goback 2 --chat for the"
                                                   " conversation alone.")
    return int(number), CONVERSATION if "--chat" in words else BOTH


# a turn of /timeline

def turn(controller: Controller, asked: Any) -> Mapping[str, object]:
    target, what = AtTurn(asked.of, uuid=asked.uuid), _typed(asked.typed)[1]
    if asked.digest:
        return _go(controller, asked, target, what)
    answer = _ask(controller, target, what)
    return {**answer, "diff": _diff(controller, answer["checkpoint"])}


def _ask(controller: Controller, target: Target, what: str) -> GoBackPlan:
    plan = controller.plan(target, what)
    answer = plan_answer(plan, f"Go back to before {quoted(plan.prompts)}?", _about(plan), "Go back")
    return {**answer, "checkpoint": plan.record.name if plan.record and answer["changes"] else ""}


def _go(controller: Controller, asked: Any, target: Target, what: str) -> OutcomeAnswer:
    outcome = controller.go(target, what, digest=asked.digest)
    return outcome_answer(outcome, f"Went back to before {quoted(outcome.prompts)}")


def _about(plan: Plan) -> list[str]:
    taken = f"Takes back {plural(len(plan.prompts), 'prompt')}. This conversation stays as it is;"
    where = "an empty one begins." if plan.start_anew else "you continue in a fork of it."
    return [f"{taken} {where}", *([] if plan.code else ["The files stay as they are."])]


def _diff(controller: Controller, checkpoint: str) -> str:
    """From the project as it is now to the checkpoint; empty without one."""
    if not checkpoint:
        return ""
    with controller.diff(checkpoint) as found:
        patches = (patch(path, now, then, found.new.content, found.old.content)
                   for path, then, now in found.changes)
        some = islice(chain.from_iterable(patches), _MOST_LINES + 1)
        lines = [readable(line)[:_LONGEST] for line in some]
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"… more: rewind diff {checkpoint}"]
    return "\n".join(lines)


# the client's own rewind

def follow(controller: Controller, asked: Any) -> Mapping[str, object]:
    """Bring the files to where the client has rewound its conversation. Rewind leaves that one alone."""
    target = BeforePrompts(asked.gone, asked.session)
    if asked.always:
        set_value(f"{controller.project.home}/{CONFIG_FILE}", FOLLOW, "always", project=False)
    if asked.digest:
        return outcome_answer(controller.go(target, CODE, digest=asked.digest), "")
    plan = controller.plan(target, CODE)
    about = f"{counts(plan.code)}{_by_shell(controller, asked, plan)}" if plan.code else ""
    answer = plan_answer(plan, f"Bring the files along? {about}", [], "Yes")
    return {**answer, "mode": controller.setting(FOLLOW)}


def _by_shell(controller: Controller, asked: Any, plan: Plan) -> str:
    """How many of the files no file tool named: the client cannot bring those back itself."""
    root = controller.project.root.rstrip("/") + "/"
    page = controller.turns(asked.session, -asked.gone, asked.gone)
    named = {path for view in page.turns for path in view.text.files}
    changed = {change.path for change in plan.code.changes} if plan.code else set()
    count = sum(1 for path in changed if root + path.decode("utf-8", "surrogateescape") not in named)
    return f" (Bash made {count:,} of them)" if count else ""


# /goforward: undo the last step, and return to the conversation that it left

def goforward(controller: Controller, asked: Any) -> Mapping[str, object]:
    """The plan names the session to resume *before* it is carried out: then the fork is not open any more,
    and can go to the trash if nothing was said in it."""
    if asked.digest:
        controller.wait_until_left(asked.session)
        outcome = controller.go(BeforeOperation(), digest=asked.digest)
        return {**outcome_answer(outcome, "Undone", ""), "resume": None}
    plan = controller.plan(BeforeOperation())
    op = controller.operation(plan.undoes[0])
    resume = _session_left(op, asked.session)
    lines = ["You return to the conversation that you left. This one stays if something was said in it."]
    answer = plan_answer(plan, f"Undo this step: {safe(controller.describe(op))}?", lines if resume else [],
                         "Undo", left_out=asked.session if resume else "")
    return {**answer, "resume": resume}


def _session_left(op: Operation, session: str) -> str | None:
    """The session to return to, if the client has the fork open that the step made."""
    left = op.begun.get("session")
    made = [effect.get("sessionId") for effect in op.effects if effect.get("kind") == "fork"]
    began_anew = op.command == "back" and op.begun.get("what") != "code" and not op.effects
    if not isinstance(left, str) or left == session:
        return None
    return left if session in made or began_anew else None
