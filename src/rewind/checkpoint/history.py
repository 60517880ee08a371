"""`restore-history.json`: where we stand in the sequence of checkpoints, and how to go on from there.

`entries` are the steps that can be taken back, `redo` the states that were left by going back.
"""

from __future__ import annotations

import os
import time

from rewind import quickjson
from rewind.errors import FormatTooNew, RewindError, StoreDamaged
from rewind.files import read_bounded, write_atomic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FORMAT = 1
KEPT_STEPS = 20  # the backups of this many steps are never collected
_MAX_STEPS = 200
_MAX_BYTES = 4 << 20


class History:
    def __init__(self, path: str) -> None:
        self.path = path
        self.data = self._load()

    def _load(self) -> dict[str, Any]:
        empty: dict[str, Any] = {"format": FORMAT, "position": None, "entries": [], "redo": []}
        try:
            data = quickjson.loads(read_bounded(self.path, _MAX_BYTES))
        except FileNotFoundError:
            return empty
        except (ValueError, RecursionError, RewindError):
            data = None
        if not _is_sound(data):
            raise StoreDamaged(what=f"{self.path} is not readable",
                               hint="Move this file away to go on; the checkpoints themselves are fine.")
        if data.get("format", 0) > FORMAT:
            raise FormatTooNew(what=self.path, found=data["format"], known=FORMAT)
        return {**empty, **data}

    def save(self) -> None:
        self.data["entries"] = self.data["entries"][-_MAX_STEPS:]
        self.data["redo"] = self.data["redo"][-_MAX_STEPS:]
        from rewind.checkpoint.seal import sealed

        write_atomic(self.path, quickjson.dump_file(sealed(self.data)))

    @property
    def position(self) -> int | None:
        """The sequence number of the checkpoint we went back to; None at the top."""
        position: int | None = self.data["position"]
        return position

    @property
    def entries(self) -> list[dict[str, Any]]:
        entries: list[dict[str, Any]] = self.data["entries"]
        return entries

    @property
    def redo(self) -> list[dict[str, Any]]:
        redo: list[dict[str, Any]] = self.data["redo"]
        return redo

    def interrupted(self) -> dict[str, Any] | None:
        """The step that a killed process left half done."""
        return self.entries[-1] if self.entries and self.entries[-1].get("in_progress") else None

    def begin(self, action: str, checkpoint: str, backup: str | None, paths: list[str] | None,
              chat: dict[str, Any] | None = None) -> dict[str, Any]:
        """Written before the first change of the tree, so that a crash is seen afterwards. `chat` is what
        is to become of the conversation, where the checkpoint does not tell."""
        entry = self._entry(action, checkpoint, backup, paths)
        entry.update({"chat": chat} if chat else {})
        half_done = self.interrupted()
        if half_done and half_done["checkpoint"] == checkpoint and half_done.get("paths") == paths:
            # Finishing it: the way back stays the state before it first began.
            popped = self.entries.pop()
            entry["resumes"] = popped.get("resumes") or popped
            # What was done already, or is wanted still, stands until it is done anew.
            entry.update({part: popped[part] for part in ("fork", "transcript_backup", "chat")
                          if popped.get(part) and not entry.get(part)})
        elif half_done:
            # Something else is wanted now. It stays a step of its own, with its own way back.
            half_done["in_progress"] = False
            half_done["abandoned"] = True
        for older in self.entries:
            older.pop("kept", None)  # of use where we stand, and two hundred of them would be too much
        self.entries.append(entry)
        self.save()
        return entry

    def _entry(self, action: str, checkpoint: str, backup: str | None,
               paths: list[str] | None) -> dict[str, Any]:
        return {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "action": action,
                "checkpoint": checkpoint, "backup_checkpoint": backup, "transcript_backup": None,
                "fork": None, "paths": paths, "position_before": self.position, "in_progress": True}

    def finish(self, entry: dict[str, Any], position: int | None, *, partial: bool,
               failed: bool = False) -> None:
        """The step is done: a restore or undo can be redone later, a redo is used up. Where something failed,
        the same `undo` or `redo` must lead to the same place when it is repeated."""
        entry["in_progress"] = False
        entry.pop("chat", None)
        first = entry.pop("resumes", None)
        if first:
            entry["backup_checkpoint"] = first["backup_checkpoint"]
            entry["position_before"] = first["position_before"]
        if entry["action"] == "redo":
            entry["redone"] = None if failed else self.redo.pop()
        elif entry["backup_checkpoint"] or entry.get("transcript_backup"):
            self._push_redo(entry["backup_checkpoint"] or "", entry["position_before"], entry.get("paths"),
                            _way_forward(entry), entry["checkpoint"])
        if not partial and not (failed and entry["action"] == "redo"):
            self.data["position"] = position
        self.save()

    def note_arrival(self, action: str, position: int | None, *, redone: bool = True) -> None:
        """The tree was as wanted already: only the position moves, and a redo is used up."""
        if action == "redo" and redone:
            self.redo.pop()
        self.data["position"] = position
        self.save()

    def _push_redo(self, checkpoint: str, position: int | None, paths: list[str] | None,
                   chat: dict[str, Any] | None, standing: str = "") -> None:
        """`standing`: the checkpoint that it leads away from."""
        step: dict[str, Any] = {"checkpoint": checkpoint, "position": position, "paths": paths}
        step.update({"chat": chat} if chat else {})
        step.update({"from": standing} if standing else {})
        if self.redo and self.redo[-1]["checkpoint"] == checkpoint and self.redo[-1].get("chat") == chat:
            self.redo.pop()
        self.redo.append(step)

    def _leads_out_of(self, redo: dict[str, Any], entry: dict[str, Any]) -> bool:
        left, rewritten = entry["backup_checkpoint"] or "", entry.get("transcript_backup") or {}
        told = (redo.get("chat") or {}).get("transcript") or {}
        return bool(redo["checkpoint"] == left and told.get("backup") == rewritten.get("backup")
                    and (left or rewritten))

    def chat_step(self, action: str) -> Callable[[dict[str, Any]], None]:
        """A step that leaves the code alone: the returned function notes it, and what is added to it later.
        A step that is half done stays the last one: it must be told."""
        entry: dict[str, Any] = {}

        def note(fields: dict[str, Any]) -> None:
            if entry:
                self.note(entry, fields)
                return
            if not fields:  # nothing of what was to be done again is there any more
                self.redo.pop()
                self.save()
                return
            entry.update({**self._entry(action, "", None, None), **fields, "in_progress": False})
            self.entries.insert(len(self.entries) - 1 if self.interrupted() else len(self.entries), entry)
            if action == "redo":
                entry["redone"] = self.redo.pop()
            elif entry["transcript_backup"]:
                self._push_redo("", self.position, None, _way_forward(entry))
            self.save()

        return note

    def note(self, entry: dict[str, Any], fields: dict[str, Any]) -> None:
        """What a step is about to do, or has just done, besides the code."""
        entry.update(fields)
        self.save()

    def begin_undo_restore(self, entry: dict[str, Any], backup: str | None = None) -> None:
        """`backup` leads forward again; when it was killed and is finished, the first one does."""
        entry.setdefault("undo_backup", backup)
        if not entry.get("in_progress"):
            entry["in_progress"] = entry["undoing"] = True
        self.save()

    def keep_for_another_try(self, entry: dict[str, Any]) -> None:
        """Taken back but for some paths: it stays the last step, and the next `undo-restore` goes on with it.
        It is not called interrupted, as nothing may ever mend it, and hooks would wait for that."""
        entry["in_progress"] = False
        entry.pop("undoing", None)
        self.save()

    def finish_undo_restore(self, undone: dict[str, Any], backup: str | None,
                            chat: dict[str, Any] | None = None) -> None:
        """The last step is taken back and forgotten; going forward again leads to what it had made."""
        half_done = undone.get("in_progress") and not undone.get("undoing")
        backup = undone.get("undo_backup") or backup
        if self.redo and self._leads_out_of(self.redo[-1], undone):
            self.redo.pop()
        if (backup or chat) and not half_done:
            # With whatever was done since that step.
            self._push_redo(backup or "", self.position, undone.get("paths"), chat, way_back(undone))
        elif undone.get("redone"):
            self.redo.append(undone["redone"])
        self.entries.remove(undone)
        self.data["position"] = undone.get("position_before")
        self.save()

    def note_new_tree(self) -> None:
        """Work went on from here: we are at the top, and there is no forward any more."""
        if self.position is not None or self.redo:
            self.data["position"] = None
            self.data["redo"] = []
            self.save()

    def kept_where_we_stand(self) -> frozenset[bytes]:
        """Ignored files that the last step kept. It may have taken away what ignores them, and the same step
        again must not take the files."""
        kept = self.entries[-1].get("kept") if self.entries and self.position is not None else None
        return frozenset(os.fsencode(path) for path in kept or () if isinstance(path, str))

    def backups_in_use(self) -> set[str]:
        """Checkpoints that the last steps need for their way back or forward."""
        names = [name for r in self.redo[-KEPT_STEPS:] for name in (r["checkpoint"], r.get("from"))]
        for entry in self.entries[-KEPT_STEPS:]:
            names += [entry["checkpoint"], entry.get("backup_checkpoint"), entry.get("undo_backup"),
                      (entry.get("redone") or {}).get("checkpoint"),
                      (entry.get("resumes") or {}).get("backup_checkpoint")]
        return {name for name in names if isinstance(name, str)}


def way_back(entry: dict[str, Any]) -> str:
    """The backup that takes a step back; a step that was killed and finished has that of its beginning."""
    first = entry.get("resumes") or entry
    return first.get("backup_checkpoint") or ""


def ways_on(entry: dict[str, Any]) -> str:
    """What can be done about a step that was interrupted, for messages."""
    redoing = entry.get("action") == "redo" and not entry.get("undoing")
    again = "redo" if redoing else f"restore {entry['checkpoint']}"
    return f"`rewind undo-restore` takes it back, `rewind {again}` finishes it"


def _way_forward(entry: dict[str, Any]) -> dict[str, Any] | None:
    """After a step back in place, forward means the transcript as it was; a fork left it as it was."""
    rewritten = entry.get("transcript_backup")
    return {"transcript": rewritten} if rewritten else None


def _is_sound(data: Any) -> bool:
    if not isinstance(data, dict) or not isinstance(data.get("format"), int):
        return False
    position = data.get("position")
    lists = [data.get("entries", []), data.get("redo", [])]
    return ((position is None or isinstance(position, int))
            and all(isinstance(one, list) for one in lists)
            and all(isinstance(item, dict) and isinstance(item.get("checkpoint"), str)
                    for one in lists for item in one))
