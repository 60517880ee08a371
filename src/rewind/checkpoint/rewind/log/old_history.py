"""`restore-history.json` of earlier versions, read as lines of the log. It is never written."""

from __future__ import annotations

from rewind.errors import RewindError, StoreDamaged
from rewind.fast import quickjson
from rewind.files import read_bounded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    Line = dict[str, Any]
    Lines = tuple[Line, Optional[Line]]  # when it began, and when it ended

PLACE = "main"
_MAX_BYTES = 4 << 20
# In the words of the log; each could be taken back.
_COMMANDS = {"restore": "restore", "back": "back", "undo": "undo", "redo": "restore"}


def read_old(path: str) -> dict[str, Any]:
    try:
        data = quickjson.loads(read_bounded(path, _MAX_BYTES))
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError, RewindError):
        data = None
    entries = data.get("entries") if isinstance(data, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise StoreDamaged(what=f"{path} is not readable",
                           hint="Move this file away and try again. The checkpoints themselves are fine.")
    found: dict[str, Any] = data
    return found


def lines_of(path: str) -> list[Lines]:
    """Steps that could be taken back can be taken back; what could be redone cannot be any more."""
    found = (_lines(number, entry) for number, entry in enumerate(read_old(path)["entries"]))
    return [lines for lines in found if lines]


def _lines(number: int, entry: Line) -> Lines | None:
    first = entry.get("resumes")
    before = (first if isinstance(first, dict) else entry).get("backup_checkpoint")
    paths, checkpoint = entry.get("paths"), entry.get("checkpoint")
    effects = _effects(entry)
    if not isinstance(before, str) and not effects:
        return None  # nothing led back from it
    id = f"{number:08x}"
    begun = {"op": id, "event": "begin", "at": str(entry.get("timestamp") or ""), "place": PLACE,
             "command": _COMMANDS.get(str(entry.get("action")), "restore"),
             "before": before if isinstance(before, str) else "",
             "checkpoint": checkpoint if isinstance(checkpoint, str) and isinstance(before, str) else "",
             "paths": paths if isinstance(paths, list) else None, "effects": effects,
             "leftAlone": entry.get("kept") if isinstance(entry.get("kept"), list) else None}
    ended = {"op": id, "event": "end", "at": begun["at"], "place": PLACE, "result": "done",
             "here": "" if paths else begun["checkpoint"], "effects": effects}
    return ({key: value for key, value in begun.items() if value is not None},
            None if entry.get("in_progress") else ended)


def _effects(entry: dict[str, Any]) -> list[dict[str, Any]]:
    fork, rewritten = entry.get("fork"), entry.get("transcript_backup")
    found: list[dict[str, Any]] = []
    if isinstance(fork, dict):
        found.append({"kind": "fork", **{key: fork.get(key) for key in ("sessionId", "path", "agent")}})
    if isinstance(rewritten, dict) and rewritten.get("path"):
        found.append({"kind": "rewrite", **{key: rewritten.get(key) for key in ("path", "agent", "backup",
                                                                               "made")}})
    return found


def position_of(path: str) -> int | None:
    """The number of the checkpoint that an earlier version had gone back to; None: it stood at the newest."""
    position = read_old(path).get("position")
    return position if isinstance(position, int) else None


