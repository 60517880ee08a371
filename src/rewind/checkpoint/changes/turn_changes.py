"""What a turn did to the files: the difference between the checkpoints around it, with line counts,
cached."""

from __future__ import annotations

import contextlib
import time

from rewind.checkpoint.operation_log.lineage import lineage
from rewind.checkpoint.records.source import Source, between
from rewind.errors import RewindError
from rewind.fast import quickjson
from rewind.snapshot.diff.compare import compare
from rewind.snapshot.trees.tree import DIR, TreeEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record

    class ChangedFile(TypedDict):
        path: str
        status: str  # added, deleted, modified
        added: int | None  # lines; None where they were not counted
        removed: int | None

    class Changes(TypedDict, total=False):
        """The difference between two checkpoints; `large` exists only if it is not 0."""

        files: list[ChangedFile]
        added: int
        removed: int
        more: int  # files that are not listed
        deleted: int  # files
        counted: bool  # false if the lines of some files were not counted
        large: int  # files that are too large to count their lines

    # `from` is a keyword, so this cannot be a class.
    FromTo = TypedDict("FromTo", {"from": str, "to": str}, total=False)

    class TurnChanges(Changes, FromTo, total=False):
        """With the names of the two checkpoints."""

_NAMED = 400  # files that are listed
_COUNTED = 200  # files whose lines are counted
NOTHING: Changes = {"files": [], "added": 0, "removed": 0, "more": 0, "deleted": 0, "counted": True}
MOST_UNPACKED = 64 << 20  # of archives, for one page of turns: about two seconds


class Unpacked:
    """Open checkpoints while several are compared: each archive is unpacked once, and no more archives than a
    person would wait for. Results are cached, so the next call continues."""

    def __init__(self, state: State, room: int = MOST_UNPACKED) -> None:
        self._state = state
        self._room = room
        # By tree, because a turn often begins with the tree that the last one left.
        self._open: dict[bytes, Source] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Unpacked:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def has_room_for(self, *records: Record) -> bool:
        needed = sum(_size(record) for record in records if record.tree not in self._open)
        return needed <= self._room

    def source(self, record: Record) -> Source:
        if record.tree not in self._open:
            self._room -= _size(record)
            self._open[record.tree] = self._stack.enter_context(Source(self._state, record))
        return self._open[record.tree]


def _size(record: Record) -> int:
    """The bytes that must be unpacked to read it."""
    if record.format == "objects":
        return 0
    size = record.code.get("totalSize")
    return max(1, size) if isinstance(size, int) else MOST_UNPACKED + 1


def changes_between(state: State, old: Record, new: Record,
                    unpacked: Unpacked | None = None) -> Changes | None:
    """None if it is not known: without `unpacked`, archives are not read."""
    if old.tree == new.tree:
        return NOTHING.copy()
    key = f"{old.tree.hex()} {new.tree.hex()}"
    for (text,) in state.derived.query("SELECT summary FROM turn_changes WHERE trees=?", (key,)):
        try:
            known: Changes = quickjson.loads(text)
            return known
        except ValueError:
            pass  # a damaged entry: compare again
    at_hand = unpacked or Unpacked(state, 0)
    if not at_hand.has_room_for(old, new):
        return None
    try:
        found = _compare(at_hand.source(old), at_hand.source(new))
    except RewindError:
        return None
    state.derived.write([("INSERT OR REPLACE INTO turn_changes VALUES(?, ?)",
                          [(key, quickjson.dumps(found))])])
    return found


def row_changes(state: State, records: list[Record], patience: float) -> dict[str, Changes]:
    """What changed with each checkpoint, by name. What is not known after `patience` seconds is left out
    until the next call."""
    parents = lineage(state)
    until = time.monotonic() + patience
    found = {}
    for record in records:
        parent = parents.parent(record.name)
        if parent is None:
            continue
        if time.monotonic() > until:
            break
        changes = changes_between(state, parent, record)
        if changes is not None:
            found[record.name] = changes
    return found


def _compare(before: Source, after: Source) -> Changes:
    files: list[ChangedFile] = []
    more = added = removed = deleted = large = 0
    for path, then, now in between(before, after):
        if is_directory(then, now):
            continue
        deleted += now is None
        if len(files) >= _NAMED:
            more += 1
            continue
        found = compare(path, then, now, before.read, after.read) if len(files) < _COUNTED else None
        large += bool(found and not found.is_counted)
        plus, minus = (found and found.counts) or (None, None)
        added, removed = added + (plus or 0), removed + (minus or 0)
        files.append({"path": path.decode("utf-8", "backslashreplace"),
                      "status": "added" if then is None else "deleted" if now is None else "modified",
                      "added": plus, "removed": minus})
    changes: Changes = {"files": files, "added": added, "removed": removed, "more": more, "deleted": deleted,
                        "counted": len(files) <= _COUNTED and not large}
    if large:
        changes["large"] = large
    return changes


def is_directory(then: TreeEntry | None, now: TreeEntry | None) -> bool:
    return all(entry is None or entry.kind == DIR for entry in (then, now))
