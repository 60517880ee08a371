"""`/goforward`: undo the last step, and return to the conversation that it left."""

from __future__ import annotations

from rewind.cli.plugin.plans import outcome_answer, plan_answer
from rewind.controller import BeforeOperation, Controller
from rewind.words import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.checkpoint.rewind.log.operations import Operation


def goforward(controller: Controller, asked: Any) -> dict[str, Any]:
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
                         "Undo", unsaid=asked.session if resume else "")
    return {**answer, "resume": resume}


def _session_left(op: Operation, session: str) -> str | None:
    """The session to return to, where the client has open what the step made of it."""
    left = op.begun.get("session")
    made = [effect.get("sessionId") for effect in op.effects if effect.get("kind") == "fork"]
    began_anew = op.command == "back" and op.begun.get("what") != "code" and not op.effects
    if not isinstance(left, str) or left == session:
        return None
    return left if session in made or began_anew else None
