"""Plans for dialogs to show. The stamp of a plan tells later whether the same would still happen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.controller import (
    AtCheckpoint,
    AtTurn,
    BeforeFork,
    BeforeOperation,
    BeforeUndo,
    BroughtBack,
    Controller,
)
from rewind.web.reads import shapes
from rewind.web.reads.paths import named_path, named_paths, paths_in, planned_paths
from rewind.web.reads.query import Query

if TYPE_CHECKING:
    from rewind.checkpoint.operation_log.operations import Operation
    from rewind.checkpoint.rewind.plan import Plan
    from rewind.checkpoint.rewind.target import Target
    from rewind.web.reads import parts

HUNK_HOW = ("", "markers", "theirs")


def turn_plan(controller: Controller, query: Query) -> parts.TurnPlan:
    both = query.choice("mode", ("chat", "both")) == "both"
    session, turn = query.session, query.number("turn", 0, low=1)
    plan = controller.plan(turn_target(session, turn), "both" if both else "conversation")
    return {"turn": turn, "mode": "both" if both else "chat", "keeps": turn, "drops": plan.total - turn,
            "prompt": plan.prompts[0].text if plan.prompts else "",
            **_shape(plan), "warnings": _warnings(controller, session, turn, plan, both)}


def turn_target(session: str, turn: int) -> Target:
    """On the page, rewinding to a turn keeps that turn."""
    return AtTurn(session, turn, after=True)


def _shape(plan: Plan, *, merged: bool = False) -> parts.Plan:
    """The same shape for every action that goes back. `merged`: the result is no checkpoint yet."""
    at = None if merged else plan.record
    code: parts.PlanCode | None = None
    if at:
        code = {"checkpoint": at.name, "exact": plan.exact, "createdAt": at.created_at}
    return {"code": code, **shapes.plan(plan.code), "notes": plan.all_notes(), "warnings": [],
            "stamp": plan.digest}


def _warnings(controller: Controller, session: str, turn: int, plan: Plan,
              both: bool) -> list[parts.Warned]:
    found = []
    view = controller.turns(session, turn, 1).turns
    missing = view[0].missing if view and not both else []
    if missing:
        some = ", ".join(missing[:3]) + (" and more" if len(missing) > 3 else "")
        found.append(("missing-files", f"Files that this turn was about do not exist now: {some}"))
    if plan.prompts and controller.left_processes(plan):
        found.append(("processes-keep-running",
                      "Later turns ran commands that may have started something; that keeps running."))
    most = controller.setting("branches.max")
    made = sum(1 for info in controller.sessions() if info.made_by_rewind)
    if made >= most:
        found.append(("too-many-branches", f"There are {made} branches already; delete some of them."))
    if plan.index and plan.cut and any(offset > plan.cut.offset for offset in plan.index.compactions):
        found.append(("compaction", "The conversation was compacted after this turn; the branch begins before"
                                    " that, with the whole text."))
    return [{"code": code, "message": message} for code, message in found]


def checkpoint_plan(controller: Controller, query: Query) -> parts.Plan:
    target = checkpoint_target(controller, query.checkpoint, query.texts("path", 4096))
    return _shape(controller.plan(target, "code"))


def checkpoint_target(controller: Controller, name: str, texts: list[str]) -> Target:
    return AtCheckpoint(name, named_paths(texts, lambda: planned_paths(controller, AtCheckpoint(name))))


def undo_plan(controller: Controller, query: Query) -> parts.StepPlan:
    return _step_plan(controller, controller.to_undo(), BeforeOperation())


def redo_plan(controller: Controller, query: Query) -> parts.StepPlan:
    return _step_plan(controller, controller.to_redo(), BeforeUndo())


def _step_plan(controller: Controller, op: Operation | None, target: Target) -> parts.StepPlan:
    """What would happen, and which operation would be undone or redone."""
    return {**_shape(controller.plan(target)), "operation": op.id if op else None,
            "text": controller.describe(op) if op else ""}


def forward_plan(controller: Controller, query: Query) -> parts.Plan:
    return _shape(controller.plan(BeforeFork(query.session), "code"))


def hunk_plan(controller: Controller, query: Query) -> parts.Plan:
    ends = query.checkpoint_named(query.text("from", 100)), query.checkpoint_or_now("to")
    how = query.choice("how", HUNK_HOW)
    target = hunk_target(controller, ends, query.text("path", 4096), query.texts("hunk", 100), how=how)
    return _shape(controller.plan(target, "code"), merged=True)


def hunk_target(controller: Controller, ends: tuple[str, str | None], path: str, ids: list[str], *,
                how: str = "", label: str = "") -> Target:
    """Hunks of one file, as they were at the first of two points."""
    named = named_path(path, lambda: paths_in(controller.diff(*ends)))
    return BroughtBack(*ends, {named: ids}, how=how, label=label)
