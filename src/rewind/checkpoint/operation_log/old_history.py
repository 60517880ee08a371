"""Reads `restore-history.json` of earlier versions as lines of the log. It is never written."""

from __future__ import annotations

from rewind import jsonfile
from rewind.errors import StoreDamaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from rewind.checkpoint.operation_log.line import Effect, Line
    from rewind.jsonfile import JsonObject

    Lines = tuple[Line, Optional[Line]]  # when it began, and when it ended

PLACE = "main"
_MAX_BYTES = 4 << 20
# The command of the log for each action of the old history.
_COMMANDS = {"restore": "restore", "back": "back", "undo": "undo", "redo": "restore"}


def read_old(path: str) -> JsonObject:
    try:
        data = jsonfile.read(path, _MAX_BYTES) or {}
    except FileNotFoundError:
        return {}
    entries = data.get("entries")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise StoreDamaged(what=f"{path} is not readable",
                           hint="Move this file away and try again. The checkpoints themselves are fine.")
    return data


def lines_of(path: str) -> list[Lines]:
    """What could be undone can still be undone; what could be redone cannot be redone any more."""
    found = (_lines(number, entry) for number, entry in enumerate(read_old(path)["entries"]))
    return [lines for lines in found if lines]


def _lines(number: int, entry: JsonObject) -> Lines | None:
    first = entry.get("resumes")
    before = (first if isinstance(first, dict) else entry).get("backup_checkpoint")
    paths, checkpoint = entry.get("paths"), entry.get("checkpoint")
    effects = _effects(entry)
    if not isinstance(before, str) and not effects:
        return None  # it could not be undone
    id = f"{number:08x}"
    begun: Any = {"op": id, "event": "begin", "at": str(entry.get("timestamp") or ""), "place": PLACE,
             "command": _COMMANDS.get(str(entry.get("action")), "restore"),
             "before": before if isinstance(before, str) else "",
             "checkpoint": checkpoint if isinstance(checkpoint, str) and isinstance(before, str) else "",
             "paths": paths if isinstance(paths, list) else None, "effects": effects,
             "leftAlone": entry.get("kept") if isinstance(entry.get("kept"), list) else None}
    ended: Line = {
        "op": id, "event": "end", "at": begun["at"], "place": PLACE, "result": "done",
        "here": "" if paths else begun["checkpoint"], "effects": effects}
    known: Any = {key: value for key, value in begun.items() if value is not None}
    return known, None if entry.get("in_progress") else ended


def _effects(entry: JsonObject) -> list[Effect]:
    fork, rewritten = entry.get("fork"), entry.get("transcript_backup")
    found: list[Effect] = []
    if isinstance(fork, dict):
        found.append({"kind": "fork", "sessionId": fork.get("sessionId"), "path": fork.get("path"),
                      "agent": fork.get("agent")})
    if isinstance(rewritten, dict) and rewritten.get("path"):
        found.append({"kind": "rewrite", "path": rewritten.get("path"), "agent": rewritten.get("agent"),
                      "backup": rewritten.get("backup"), "made": rewritten.get("made")})
    return found


def position_of(path: str) -> int | None:
    """The number of the checkpoint that the project stood on; None: the newest."""
    position = read_old(path).get("position")
    return position if isinstance(position, int) else None


