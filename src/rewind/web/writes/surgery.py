"""Taking back one turn: the plan with its conflicts, one of its files line by line, and the outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.controller import Controller, Reverted
from rewind.errors import PathNotChanged, RewindError
from rewind.web.reads import shapes
from rewind.web.reads.files import author
from rewind.web.reads.patches import file_lines
from rewind.web.reads.paths import named_path, named_paths, planned_paths
from rewind.web.reads.query import Query

if TYPE_CHECKING:
    from rewind.checkpoint.records.source import KeptPath
    from rewind.checkpoint.rewind.outcome import Outcome
    from rewind.checkpoint.rewind.plan import Plan
    from rewind.web.reads import parts
    from rewind.web.writes import answer_types

HOW = ("", "markers", "ours", "theirs")
_EXPLAINED = 20  # conflicts whose lines are shown
_MOST_LINES = 12  # of one place


def revert_target(session: str, turn: int, how: str, paths: list[bytes] | None = None) -> Reverted:
    return Reverted([f"t{turn}"], session, paths, how)


def revert_plan(controller: Controller, query: Query) -> parts.RevertPlan:
    """What would change, what is in conflict and with which lines, and what stays."""
    session = controller.session_file(query.session).session_id
    turn, how = query.number("turn", 0, low=1), query.choice("how", HOW)
    paths = named_paths(query.texts("path", 4096))
    plan = controller.plan(revert_target(session, turn, how, paths), "code")
    return {"turn": turn, "how": how, "about": plan.about, **merge_shape(controller, plan)}


def merge_shape(controller: Controller, plan: Plan) -> parts.MergePlan:
    """Conflicts are listed apart from files that are only kept."""
    code = plan.code
    conflicts = code.conflicts if code else []
    kept = [one for one in code.kept if not one.conflict] if code else []
    stays = [shapes.with_reason(one.path, one.reason) for one in kept[:shapes.MOST_LISTED]]
    return {"code": None, **shapes.plan(code), "kept": stays, "keptCount": len(kept),
            "conflicts": [_conflict(controller, one, number < _EXPLAINED)
                          for number, one in enumerate(conflicts)],
            "settled": [_conflict(controller, one, False) for one in code.settled] if code else [],
            "notes": plan.all_notes(), "warnings": [], "stamp": plan.digest}


def _conflict(controller: Controller, kept: KeptPath, with_lines: bool) -> parts.Conflict:
    places = getattr(kept, "lines", ())
    return {**shapes.with_reason(kept.path, kept.reason),
            "places": [_place(controller, kept.path, first, count, with_lines) for first, count in places]}


def _place(controller: Controller, path: bytes, first: int, count: int, with_lines: bool) -> parts.Place:
    shown = _lines(controller, path, first, count) if with_lines else None
    return {"from": first, "count": count, **shown} if shown else {"from": first, "count": count}


def _lines(controller: Controller, path: bytes, first: int, count: int) -> parts.PlaceLines:
    """The lines that are there now, and who wrote them: they conflict with taking back the turn."""
    if not count:
        return {"lines": [], "by": []}
    try:
        found = controller.blame(path, first=first, last=first + count - 1).lines
    except RewindError:
        return {"lines": [], "by": []}
    by = {id(line.author): author(line) for line in found}
    return {"lines": [line.text.rstrip(b"\r\n").decode("utf-8", "replace")[:500]
                      for line in found[:_MOST_LINES]], "by": list(by.values())}


def revert_file(controller: Controller, query: Query) -> parts.FileLines:
    """One file of the plan: the difference between how it is now and how it would be."""
    session = controller.session_file(query.session).session_id
    text, turn = query.text("path", 4096), query.number("turn", 0, low=1)
    target = revert_target(session, turn, query.choice("how", HOW))
    found = controller.preview(target, named_path(text, lambda: planned_paths(controller, target)))
    if found is None:
        raise PathNotChanged(path=text, what=f"turn {turn}")
    return file_lines(text, found)


def reverted(done: Outcome) -> answer_types.MergeOutcome:
    """`operation` is null if nothing was done, because there was nothing to do or there are conflicts."""
    return {**shapes.outcome(done), "about": done.about, "note": done.for_agent or None}
