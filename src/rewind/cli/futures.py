"""Forks with a directory of their own: how `rewind forks` lists, compares, adopts and removes them."""

from __future__ import annotations

import sys

from rewind.cli.columns import in_columns
from rewind.cli.merging import run_adopt
from rewind.cli.session import note, print_json
from rewind.cli.style import safe
from rewind.controller import Adopted
from rewind.errors import DONE, FutureNotFound, UsageError
from rewind.words import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from rewind.checkpoint.futures.compare import Ran
    from rewind.checkpoint.futures.known import Lane
    from rewind.controller import Controller


def lane_json(lane: Lane) -> dict[str, Any]:
    changes = lane.changes or {}
    files = len(changes.get("files") or ()) + (changes.get("more") or 0)
    return {"name": lane.name, "dir": lane.dir, "exists": lane.exists, "session_id": lane.session_id,
            "running": lane.running, "busy": lane.busy, "turns": lane.turns, "from": lane.point or None,
            "checkpoint": lane.tip or None, "files": files,
            "added": changes.get("added") or 0, "removed": changes.get("removed") or 0,
            "lastRun": lane.last_run}


def print_lanes(lanes: list[Lane]) -> None:
    _print([(lane.name, _state(lane), _turns(lane), _size(lane), _last(lane), lane.dir) for lane in lanes])


def _print(rows: list[tuple[str, ...]]) -> None:
    shown = [tuple(safe(text) for text in row) for row in rows]
    for line in in_columns(shown, tabs=not sys.stdout.isatty()):
        print(line)


def _state(lane: Lane) -> str:
    return "gone" if not lane.exists else "busy" if lane.busy else "open" if lane.running else "idle"


def _turns(lane: Lane) -> str:
    return "" if lane.turns is None else plural(lane.turns, "turn")


def _size(lane: Lane) -> str:
    changes = lane.changes
    if not changes or not (changes.get("files") or changes.get("more")):
        return "no changes"
    files = len(changes["files"]) + (changes.get("more") or 0)
    return f"+{changes['added']} −{changes['removed']} in {plural(files, 'file')}"


def _last(lane: Lane) -> str:
    ran = lane.last_run
    if not ran:
        return ""
    return f"{ran.get('command')}: " + ("passed" if ran.get("code") == 0 else f"exit {ran.get('code')}")


# compare

def compare(args: argparse.Namespace, controller: Controller) -> int:
    lanes = [controller.lane(name) for name in args.names]
    if len({lane.session_id for lane in lanes}) < len(lanes):
        raise UsageError("The same fork is named twice.", hint="`rewind forks` shows their names.")
    rows = controller.compare_lanes(lanes)
    ran = [controller.run_in_lane(lane, ["sh", "-c", args.run]) for lane in lanes] if args.run else []
    if args.json:
        files = [{"path": path, "changes": {lane.name: _change(one) for lane, one in zip(lanes, found)}}
                 for path, found in rows.items()]
        runs = {lane.name: {"code": one.code, "seconds": round(one.seconds, 3), "output": one.output}
                for lane, one in zip(lanes, ran)}
        print_json({"lanes": [lane_json(lane) for lane in lanes], "files": files, "run": runs or None})
        return DONE
    cells = [("", *(lane.name for lane in lanes))]
    cells += [(path, *(_cell(one) for one in found)) for path, found in rows.items()]
    cells += [("all files", *(_size(lane) for lane in lanes)), ("turns", *(_turns(lane) for lane in lanes))]
    cells += [(args.run, *map(_outcome, ran))] if ran else []
    _print(cells)
    for lane, one in zip(lanes, ran):
        if one.code and one.last_line:
            note(f"{lane.name}: {safe(one.last_line)}")
    note("To bring one home: rewind forks adopt NAME")
    return DONE


def _change(one: dict[str, Any] | None) -> dict[str, Any] | None:
    return {key: one.get(key) for key in ("status", "added", "removed")} if one else None


def _cell(one: dict[str, Any] | None) -> str:
    if one is None:
        return "·"
    sign = {"added": "new ", "deleted": "gone "}.get(str(one.get("status")), "")
    return f"{sign}+{one.get('added') or 0} −{one.get('removed') or 0}"


def _outcome(ran: Ran) -> str:
    return ("passed" if ran.code == 0 else f"exit {ran.code}") + f", {ran.seconds:.1f} s"


# adopt, remove

def adopt(args: argparse.Namespace, controller: Controller) -> int:
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


def remove_lanes(args: argparse.Namespace, controller: Controller, lanes: list[Lane]) -> None:
    for lane in lanes:
        controller.remove_lane(lane, force=args.force, dry_run=args.dry_run)
    if args.json:
        print_json({"action": args.action, "dryRun": args.dry_run, "lanes": [lane.name for lane in lanes],
                    "sessions": [lane.session_id for lane in lanes]})
        return
    for lane in lanes:
        print(f"{'Would remove' if args.dry_run else 'Removed'} {lane.name}  {safe(lane.dir)}")
    if not args.dry_run:
        note("Their checkpoints stay. `rewind forks undelete NAME` brings one back.")


def bring_back(args: argparse.Namespace, controller: Controller) -> bool:
    """Whether the name is that of a fork with a directory that was removed."""
    lane = next((one for one in controller.removed_lanes()
                 if args.names[0] in (one.name, one.session_id)), None)
    if lane is None:
        return False
    controller.bring_back_lane(lane)
    if args.json:
        print_json({"action": args.action, "dryRun": False, "lanes": [lane.name],
                    "sessions": [lane.session_id]})
    else:
        print(f"Brought back {lane.name}  {safe(lane.dir)}")
    return True
