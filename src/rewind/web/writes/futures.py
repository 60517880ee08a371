"""Forks with a directory of their own: the page lists, compares, adopts and removes them.

No command is run from here: `rewind forks compare --run` executes what an agent wrote, and only a person at a
terminal may start that. The page shows how the last run ended, and the command to copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.controller import Adopted, Controller, lane_shape
from rewind.errors import BadRequest, FutureNotFound
from rewind.web.reads.query import Query
from rewind.web.writes.request import Request
from rewind.web.writes.surgery import HOW, merge_shape, reverted

if TYPE_CHECKING:
    from rewind.checkpoint.futures.known.lane import Lane
    from rewind.jsonfile import JsonObject
    from rewind.web.reads.answer_types import Lanes
    from rewind.web.writes import answer_types

_MOST = 3  # forks side by side
_MOST_FILES = 2000


def lanes(controller: Controller, query: Query) -> Lanes:
    return {"lanes": [_lane(controller, lane) for lane in controller.lanes()],
            "removed": [{"name": lane.name, "dir": lane.dir} for lane in controller.removed_lanes()]}


def _lane(controller: Controller, lane: Lane) -> JsonObject:
    ready = lane.exists and not lane_shape.problem(lane)
    return {**lane_shape.lane_json(lane), "resume": controller.lane_resume(lane) if ready else None}


def _named(lanes: list[Lane], name: str) -> Lane:
    """The page has to give the whole name; `rewind forks` also accepts other ways to name a fork."""
    found = next((lane for lane in lanes if lane.name == name), None)
    if found is None:
        raise FutureNotFound(name=name[:100])
    return found


def _wanted(controller: Controller, request: Request) -> Lane:
    return _named(controller.lanes(), request.text("name", longest=200))


def compare_lanes(controller: Controller, request: Request) -> answer_types.LanesCompared:
    """Unsaved work in the forks is saved first, as the command does, so this is not a GET request."""
    names = request.texts("names")
    if not 2 <= len(set(names)) == len(names) <= _MOST:
        raise BadRequest(f"names are those of 2 to {_MOST} forks.")
    known = controller.lanes()
    chosen = [_named(known, name) for name in names]
    found = lane_shape.compared_json(chosen, controller.compare_lanes(chosen))
    return {"event": "lanes_compared", "lanes": found["lanes"], "files": found["files"][:_MOST_FILES],
            "more": max(0, len(found["files"]) - _MOST_FILES)}


def plan_adopt(controller: Controller, request: Request) -> answer_types.AdoptPlanned:
    """Saves the work in the fork, then tells what adopting it would do here."""
    lane, how = _wanted(controller, request), request.choice("how", HOW)
    controller.save_lane(lane)
    plan = controller.plan(Adopted(lane.name, how), "both")
    return {"event": "adopt_planned", "name": lane.name, "how": how, "about": plan.about,
            **merge_shape(controller, plan)}


def adopt_lane(controller: Controller, request: Request) -> answer_types.LaneAdopted:
    lane = _wanted(controller, request)
    target = Adopted(lane.name, request.choice("how", HOW))
    done = controller.go(target, "both", digest=request.stamp())
    made = done.conversation.fork if done.conversation else None
    return {"event": "lane_adopted", **reverted(done), "sessionId": made["session_id"] if made else None,
            "resume": done.resume or None}


def remove_lane(controller: Controller, request: Request) -> answer_types.LaneNamed:
    """Never with force: work that would be lost can only be removed from the command line."""
    lane = _wanted(controller, request)
    controller.remove_lane(lane)
    return {"event": "lane_removed", "name": lane.name}


def undelete_lane(controller: Controller, request: Request) -> answer_types.LaneNamed:
    lane = _named(controller.removed_lanes(), request.text("name", longest=200))
    controller.bring_back_lane(lane)
    return {"event": "lane_returned", "name": lane.name}
