"""Forks with a directory of their own: how `rewind forks` lists, compares, adopts and removes them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rewind.cli.go_back.merge import run_adopt
from rewind.cli.open_and_answer import Args, answer, note, print_json
from rewind.cli.output.columns import in_columns
from rewind.cli.output.style import paint
from rewind.controller import Adopted, Controller, lane_shape
from rewind.errors import DONE, FutureNotFound, UsageError
from rewind.words import safe

if TYPE_CHECKING:
    from rewind.checkpoint.futures.known.lane import Lane


def print_lanes(lanes: list[Lane]) -> None:
    _print_rows([(lane.name, lane.state, lane_shape.turns(lane), lane_shape.size(lane),
             lane_shape.last_run(lane), lane.dir)
            for lane in lanes])
    for lane in lanes:
        if lane_shape.problem(lane):
            note(f"warning: {safe(lane_shape.problem(lane))}")


def _print_rows(rows: list[tuple[str, ...]]) -> None:
    shown = [tuple(safe(text) for text in row) for row in rows]
    for line in in_columns(shown, tabs=not sys.stdout.isatty()):
        print(line)


def show_lane(args: Args, controller: Controller, named: Lane) -> int:
    """One of them, and how to continue with it."""
    lane = next(one for one in controller.lanes() if one.session_id == named.session_id)
    resume = controller.lane_resume(lane) if lane.state in ("idle", "open", "busy") else ""
    facts = [("state", lane.state), ("directory", lane.dir), ("turns", lane_shape.turns(lane)),
             ("changed", lane_shape.size(lane)), ("last run", lane_shape.last_run(lane)),
             ("fork of", str(lane.known_fork.get("parentSessionId") or "")), ("continue", resume),
             ("problem", lane_shape.problem(lane))]
    lines = [f"  {paint(f'{title:<10}', 'dim')}{safe(text)}" for title, text in facts if text]
    return answer(args, {**lane_shape.lane_json(lane), "resume": resume},
                  "\n".join([paint(safe(lane.name), "cyan"), *lines]))


# compare

def compare(args: Args, controller: Controller) -> int:
    lanes = [controller.lane(name) for name in args.names]
    if len({lane.session_id for lane in lanes}) < len(lanes):
        raise UsageError("The same fork is named twice.", hint="`rewind forks` shows their names.")
    rows = controller.compare_lanes(lanes)
    ran = [controller.run_in_lane(lane, ["sh", "-c", args.run]) for lane in lanes] if args.run else []
    if args.json:
        print_json(lane_shape.compared_json(lanes, rows, ran))
        return DONE
    cells = [("", *(lane.name for lane in lanes))]
    cells += [(path, *map(lane_shape.change_words, found)) for path, found in rows.items()]
    cells += [("all files", *map(lane_shape.size, lanes)), ("turns", *map(lane_shape.turns, lanes))]
    cells += [(args.run, *map(lane_shape.run_words, ran))] if ran else []
    _print_rows(cells)
    for lane, one in zip(lanes, ran):
        if one.code and one.last_line:
            note(f"{lane.name}: {safe(one.last_line)}")
    note("To bring one home: rewind forks adopt NAME")
    return DONE


# adopt, bring back

def adopt(args: Args, controller: Controller) -> int:
    lane = controller.lane(args.names[0])
    if lane.exists:
        controller.save_lane(lane)
    return run_adopt(args, controller, lambda how: Adopted(lane.name, how))


def split_lanes(controller: Controller, names: list[str]) -> tuple[list[Lane], list[str]]:
    """Those that are forks with a directory, and the rest."""
    lanes, others = [], []
    for name in names:
        try:
            lanes.append(controller.lane(name))
        except FutureNotFound:
            others.append(name)
    return lanes, others


def bring_back(args: Args, controller: Controller) -> bool:
    """Bring back a removed fork with a directory; False if it is none."""
    lane = next((one for one in controller.removed_lanes()
                 if args.names[0] in (one.name, one.session_id)), None)
    if lane is None:
        return False
    controller.bring_back_lane(lane)
    answer(args, {"action": args.action, "dryRun": False, "lanes": [lane.name],
                  "sessions": [lane.session_id]}, f"Brought back {lane.name}  {safe(lane.dir)}")
    return True
