"""What would happen, for a dialog to show; its stamp tells later whether the same would still happen."""

from __future__ import annotations

from rewind.checkpoint.to_turn import plan_digest
from rewind.errors import ChangedSincePlan
from rewind.transcript.turn_pages import left_processes
from rewind.web import shapes
from rewind.web.paths import named_paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.checkpoint.plan import RestorePlan
    from rewind.checkpoint.to_turn import TurnPlan
    from rewind.controller import Controller


def turn_plan(controller: Controller, session: str, turn: int, both: bool) -> dict[str, Any]:
    plan = controller.plan_to_turn(session, turn, both=both)
    code = plan.code
    return {"turn": turn, "mode": "both" if both else "chat", "keeps": turn, "drops": plan.drops,
            "code": {"checkpoint": code.record.name, "exact": code.exact,
                     "createdAt": code.record.created_at} if code else None,
            **shapes.plan(plan.code_plan),
            "notes": [*(plan.code_plan.notes if plan.code_plan else []), *plan.back.notes],
            "warnings": _warnings(controller, session, plan), "stamp": plan.stamp}


def _warnings(controller: Controller, session: str, plan: TurnPlan) -> list[dict[str, str]]:
    found = []
    view = controller.turns(session, plan.turn, 1).turns
    missing = view[0].missing if view and not plan.both else []
    if missing:
        some = ", ".join(missing[:3]) + (" and more" if len(missing) > 3 else "")
        found.append(("missing-files", f"Files that this turn was about do not exist now: {some}"))
    if plan.drops and left_processes(plan.index, plan.cut.offset):
        found.append(("processes-keep-running",
                      "Later turns ran commands that may have started something; that keeps running."))
    most = controller.state.settings.get("branches.max")
    made = sum(1 for info in controller.sessions() if info.made_by_rewind)
    if made >= most:
        found.append(("too-many-branches", f"There are {made} branches already; delete some of them."))
    if any(offset > plan.cut.offset for offset in plan.index.compactions):
        found.append(("compaction", "The conversation was compacted after this turn; the branch begins before"
                                    " that, with the whole text."))
    return [{"code": code, "message": message} for code, message in found]


def checkpoint_plan(controller: Controller, name: str, texts: list[str]) -> dict[str, Any]:
    plan = plan_of(controller, name, texts)
    record = controller.find(name)
    return {"code": {"checkpoint": name, "exact": True, "createdAt": record.created_at}, **shapes.plan(plan),
            "notes": plan.notes, "warnings": [], "stamp": plan_digest(plan).decode()}


def plan_of(controller: Controller, name: str, texts: list[str], stamp: str = "") -> RestorePlan:
    """With the stamp of one that was shown, refuses when it would be another now."""
    paths = paths_of(controller, name, texts)
    plan = controller.plan_restore(name, paths=paths)
    if stamp and plan_digest(plan).decode() != stamp:
        raise ChangedSincePlan(paths="files that this restore is about")
    return plan


def paths_of(controller: Controller, name: str, texts: list[str]) -> list[bytes] | None:
    known: list[bytes] = []
    if any("\\" in text for text in texts):
        known = [change.path for change in controller.plan_restore(name).changes]
    return named_paths(texts, known)
