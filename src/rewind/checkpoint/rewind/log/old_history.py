"""`restore-history.json` of earlier versions, read as operations. It is never written."""

from __future__ import annotations

from rewind import jsonfile
from rewind.checkpoint.rewind.log.operations import BACK, DONE, RESTORE, UNDO, Operation
from rewind.errors import StoreDamaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PLACE = "main"
_MAX_BYTES = 4 << 20
_COMMANDS = {"restore": RESTORE, "back": BACK, "undo": UNDO, "redo": RESTORE}  # each could be taken back


def read_old(path: str) -> dict[str, Any]:
    try:
        data = jsonfile.read(path, _MAX_BYTES) or {}
    except FileNotFoundError:
        return {}
    entries = data.get("entries")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise StoreDamaged(what=f"{path} is not readable",
                           hint="Move this file away and try again. The checkpoints themselves are fine.")
    return data


def operations_of(path: str) -> list[Operation]:
    """Steps that could be taken back can be taken back; what could be redone cannot be any more."""
    operations = []
    for number, entry in enumerate(read_old(path)["entries"]):
        op = _operation(number, entry)
        if op:
            operations.append(op)
    return operations


def _operation(number: int, entry: dict[str, Any]) -> Operation | None:
    first = entry.get("resumes")
    before = (first if isinstance(first, dict) else entry).get("backup_checkpoint")
    paths, checkpoint = entry.get("paths"), entry.get("checkpoint")
    effects = _effects(entry)
    if not isinstance(before, str) and not effects:
        return None  # nothing led back from it
    id = f"{number:08x}"
    begun = {"op": id, "event": "begin", "at": str(entry.get("timestamp") or ""), "place": PLACE,
             "command": _COMMANDS.get(str(entry.get("action")), RESTORE),
             "before": before if isinstance(before, str) else "",
             "checkpoint": checkpoint if isinstance(checkpoint, str) and isinstance(before, str) else "",
             "paths": paths if isinstance(paths, list) else None, "effects": effects,
             "leftAlone": entry.get("kept") if isinstance(entry.get("kept"), list) else None}
    op = Operation({key: value for key, value in begun.items() if value is not None})
    if not entry.get("in_progress"):
        op.ended = {"op": id, "event": "end", "at": begun["at"], "place": PLACE, "result": DONE,
                    "here": "" if paths else begun["checkpoint"], "effects": effects}
    return op


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


