"""Futures in words and in JSON, the same in every interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.words import plural

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.changes.turn_changes import ChangedFile, Changes
    from rewind.checkpoint.futures.known.lane import Lane
    from rewind.checkpoint.futures.run import Ran

    Rows = dict[str, list[ChangedFile | None]]
    Shown = dict[str, object]  # as JSON

    class Compared(TypedDict):
        lanes: list[Shown]
        files: list[Shown]
        run: dict[str, Shown] | None


def lane_json(lane: Lane) -> Shown:
    changes: Changes = lane.changes or {}
    return {"name": lane.name, "dir": lane.dir, "exists": lane.exists, "state": lane.state,
            "session_id": lane.session_id, "running": lane.running, "busy": lane.busy, "turns": lane.turns,
            "from": lane.point or None, "parentSessionId": lane.known_fork.get("parentSessionId"),
            "fromTurn": lane.known_fork.get("rewindFromTurn"), "checkpoint": lane.tip or None,
            "files": _count(lane), "added": changes.get("added") or 0,
            "removed": changes.get("removed") or 0, "lastRun": lane.last_run,
            "problem": problem(lane) or None}


def compared_json(lanes: list[Lane], rows: Rows, ran: list[Ran] | None = None) -> Compared:
    files: list[Shown] = [
        {"path": path, "changes": {lane.name: _change(one) for lane, one in zip(lanes, found)}}
        for path, found in rows.items()]
    runs: dict[str, Shown] = {
        lane.name: {"code": one.code, "seconds": round(one.seconds, 3), "output": one.output}
        for lane, one in zip(lanes, ran or ())}
    return {"lanes": [lane_json(lane) for lane in lanes], "files": files, "run": runs or None}


def _change(one: ChangedFile | None) -> Shown | None:
    return {key: one.get(key) for key in ("status", "added", "removed")} if one else None


def _count(lane: Lane) -> int:
    changes: Changes = lane.changes or {}
    return len(changes.get("files") or ()) + (changes.get("more") or 0)


# words

def turns(lane: Lane) -> str:
    return "" if lane.turns is None else plural(lane.turns, "turn")


def size(lane: Lane) -> str:
    if not lane.changes or not _count(lane):
        return "no changes"
    return f"+{lane.changes['added']} −{lane.changes['removed']} in {plural(_count(lane), 'file')}"


def last_run(lane: Lane) -> str:
    ran = lane.last_run
    return f"{ran.get('command')}: {_ended(ran.get('code'))}" if ran else ""


def problem(lane: Lane) -> str:
    """What a process that was killed left, and the command that clears it up."""
    if lane.half_made:
        return (f"`rewind fork` was interrupted while it made {lane.name}."
                f" To remove it: rewind forks remove {lane.name}")
    if lane.half_removed:
        return (f"The removal of {lane.name} was interrupted. To finish it: rewind forks remove {lane.name};"
                f" to bring it back: rewind forks undelete {lane.name}")
    return ""


def change_words(one: ChangedFile | None) -> str:
    """What a future did to a file, for a cell of a table."""
    if one is None:
        return "·"
    sign = {"added": "new ", "deleted": "gone "}.get(str(one.get("status")), "")
    return f"{sign}+{one.get('added') or 0} −{one.get('removed') or 0}"


def run_words(ran: Ran) -> str:
    return f"{_ended(ran.code)}, {ran.seconds:.1f} s"


def _ended(code: object) -> str:
    return "passed" if code == 0 else f"exit {code}"
