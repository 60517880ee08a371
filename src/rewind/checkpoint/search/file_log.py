"""What changed a path: which checkpoints and operations, newest first, and after which prompt; and which rows
of the map."""

from __future__ import annotations

from contextlib import ExitStack

from rewind.checkpoint.log.lineage import Lineage, lineage
from rewind.checkpoint.records.source import Source
from rewind.checkpoint.select.last_prompt import LastPrompt, LastPrompts
from rewind.errors import RewindError, StoreDamaged
from rewind.snapshot.diff.compare import compare
from rewind.snapshot.trees.change import Paths, differences
from rewind.snapshot.trees.listing import entry_at
from rewind.snapshot.trees.tree import EMPTY, TreeEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from rewind.checkpoint.log.operations import Operation
    from rewind.checkpoint.map.turn_map import MapRow
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record
    from rewind.snapshot.diff.compare import Comparison, Read

    Changed = tuple[bytes, "TreeEntry | None", "TreeEntry | None"]
    Row = tuple[tuple[int, int], Record, "Record | None", "Operation | None"]


class LogEntry:
    """A checkpoint in which a path is not as it was in the one it came from, or an operation that put another
    version there. To be used before the next is asked for: its content is open until then."""

    def __init__(self, record: Record, changes: list[Changed], read_old: Read, read_new: Read,
                 prompt: LastPrompt | None, operation: Operation | None = None) -> None:
        self.record = record
        self.operation = operation  # `record` is what it restored
        self.changes = changes
        self.read_old = read_old
        self.read_new = read_new
        self.prompt = prompt

    @property
    def status(self) -> str:
        if all(old is None for _, old, _ in self.changes):
            return "added"
        return "deleted" if all(new is None for _, _, new in self.changes) else "modified"

    def compared(self) -> list[Comparison]:
        return [compare(path, old, new, self.read_old, self.read_new) for path, old, new in self.changes]


def file_log(state: State, path: bytes, damaged: dict[str, RewindError]) -> Iterator[LogEntry]:
    """What cannot be read goes to `damaged` and is passed over."""
    prompts = LastPrompts(state)
    for _, record, before, op in sorted(_pairs(state, path, damaged), key=lambda row: row[0], reverse=True):
        with ExitStack() as stack:
            try:
                new = stack.enter_context(Source(state, record))
                old = stack.enter_context(Source(state, before)) if before else None
                changes = _changes(old, new, path)
            except StoreDamaged as error:
                damaged[record.name] = error
                continue
            if changes:
                prompt = None if op else prompts.before(record)
                yield LogEntry(record, changes, (old or new).read, new.read, prompt, op)


def _pairs(state: State, path: bytes, damaged: dict[str, RewindError]) -> list[Row]:
    """(order, record, what it is compared with, operation), wherever the path is not the same in both.

    Restores put files back, so a backup is worth a line only where it holds what no checkpoint has.
    """
    parents, marks = lineage(state), Marks(state, path, damaged)
    found: list[Row] = []
    seen = {b""}
    for record in state.timeline.all():
        mark = marks.of(record)
        if record.imported or mark is None:
            continue  # never a state of this project, or not readable
        parent = _readable(parents.parent(record.name), parents, marks)
        before = marks.of(parent) if parent else b""
        if mark != before and not (record.kind == "backup" and mark in seen):
            found.append(((record.sequence, 0), record, parent, None))
        seen.add(mark)
    for number, op in enumerate(state.operations().mine(), 1):
        old, new = parents.records.get(op.before), parents.records.get(op.checkpoint)
        concerned = op.ended and (op.paths is None or not path or Paths(op.paths).touches(path))
        if concerned and old and new and marks.differ(old, new):
            found.append(((op.sequence, number), new, old, op))
    return found


def _readable(parent: Record | None, parents: Lineage, marks: Marks) -> Record | None:
    """The nearest ancestor that is not damaged."""
    while parent and marks.of(parent) is None:
        parent = parents.parent(parent.name)
    return parent


class Marks:
    """What the path is in each checkpoint, asked once."""

    def __init__(self, state: State, path: bytes, damaged: dict[str, RewindError]) -> None:
        self._state = state
        self._path = path
        self._damaged = damaged
        self._known: dict[str, bytes | None] = {}

    def differ(self, old: Record, new: Record) -> bool:
        one, other = self.of(old), self.of(new)
        return one is not None and other is not None and one != other

    def of(self, record: Record) -> bytes | None:
        if record.name not in self._known:
            try:
                self._known[record.name] = _mark(self._state, record, self._path)
            except StoreDamaged as error:
                self._damaged[record.name] = error
                self._known[record.name] = None
        return self._known[record.name]


def _mark(state: State, record: Record, path: bytes) -> bytes:
    """The same where the path is the same; empty where it is not there."""
    if not path:
        return record.tree
    with Source(state, record) as source:
        entry = entry_at(source.tree, record.tree, path)
    return entry.kind + b"%o " % entry.mode + entry.ref if entry else b""


def _changes(old: Source | None, new: Source, path: bytes) -> list[Changed]:
    return list(differences(old.record.tree if old else None, old.tree if old else lambda oid: EMPTY,
                            new.record.tree, new.tree, Paths([path])))


# several paths

def touching(state: State, rows: list[MapRow], paths: list[bytes]) -> list[MapRow]:
    """Those of the rows of the map that changed one of these paths."""
    from functools import cache

    marks, wanted, find = _marks(state, paths), Paths(paths), cache(state.files.find)
    found = []
    for row in rows:
        if row.op:
            concerned = row.op.paths is None or any(wanted.touches(path) for path in row.op.paths)
            before, after = row.op.before, row.op.checkpoint if concerned else ""
        else:
            before, after = row.before.name if row.before else "", row.after.name if row.after else ""
        new = find(after)
        if new and _differ(marks, find(before), new):
            found.append(row)
    return found


def checkpoints_touching(state: State, records: list[Record], paths: list[bytes]) -> list[Record]:
    """Those in which a path is not as it was in the one they came from."""
    parents = lineage(state)
    marks = _marks(state, paths)
    return [record for record in records if _differ(marks, parents.parent(record.name), record)]


def _differ(marks: list[Marks], old: Record | None, new: Record) -> bool:
    return any((one.of(old) if old else b"") != one.of(new) for one in marks)


def _marks(state: State, paths: list[bytes]) -> list[Marks]:
    damaged: dict[str, RewindError] = {}
    return [Marks(state, path, damaged) for path in paths]
