"""What changed a path: which checkpoints and operations, newest first, and after which prompt. And which rows
of the map changed one of several paths."""

from __future__ import annotations

from contextlib import ExitStack

from rewind.checkpoint.operation_log.lineage import Lineage, lineage
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

    from rewind.checkpoint.map.turn_map import MapRow
    from rewind.checkpoint.operation_log.operations import Operation
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record
    from rewind.snapshot.diff.compare import Comparison, Read

    Changed = tuple[bytes, "TreeEntry | None", "TreeEntry | None"]
    Row = tuple[tuple[int, int], Record, "Record | None", "Operation | None"]


class LogEntry:
    """A checkpoint in which a path differs from the parent, or an operation that restored another version.
    Its content can be read until the next entry is fetched."""

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
    """Skips unreadable checkpoints and adds them to `damaged`."""
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
    """(order, record, the record to compare with, operation) wherever the path differs between the two.

    A backup is only listed if it holds a version that no earlier checkpoint has.
    """
    parents, states = lineage(state), PathStates(state, path, damaged)
    found: list[Row] = []
    seen = {b""}
    for record in state.timeline.all():
        now = states.of(record)
        if record.imported or now is None:
            continue  # it was never a state of this project, or it is not readable
        parent = _readable(parents.parent(record.name), parents, states)
        before = states.of(parent) if parent else b""
        if now != before and not (record.kind == "backup" and now in seen):
            found.append(((record.sequence, 0), record, parent, None))
        seen.add(now)
    for number, op in enumerate(state.operations().mine(), 1):
        old, new = parents.records.get(op.before), parents.records.get(op.checkpoint)
        concerned = op.ended and (op.paths is None or not path or Paths(op.paths).touches(path))
        if concerned and old and new and states.differ(old, new):
            found.append(((op.sequence, number), new, old, op))
    return found


def _readable(parent: Record | None, parents: Lineage, states: PathStates) -> Record | None:
    """The nearest ancestor that is not damaged."""
    while parent and states.of(parent) is None:
        parent = parents.parent(parent.name)
    return parent


class PathStates:
    """The state of a path in each checkpoint, read once."""

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
                self._known[record.name] = _state_of(self._state, record, self._path)
            except StoreDamaged as error:
                self._damaged[record.name] = error
                self._known[record.name] = None
        return self._known[record.name]


def _state_of(state: State, record: Record, path: bytes) -> bytes:
    """Equal if the path is the same in two checkpoints; empty if it does not exist."""
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
    """The rows of the map that changed one of these paths."""
    from functools import cache

    states, wanted, find = _states_of(state, paths), Paths(paths), cache(state.files.find)
    found = []
    for row in rows:
        if row.op:
            concerned = row.op.paths is None or any(wanted.touches(path) for path in row.op.paths)
            before, after = row.op.before, row.op.checkpoint if concerned else ""
        else:
            before, after = row.before.name if row.before else "", row.after.name if row.after else ""
        new = find(after)
        if new and _differ(states, find(before), new):
            found.append(row)
    return found


def checkpoints_touching(state: State, records: list[Record], paths: list[bytes]) -> list[Record]:
    """The checkpoints in which one of the paths differs from the parent."""
    parents = lineage(state)
    states = _states_of(state, paths)
    return [record for record in records if _differ(states, parents.parent(record.name), record)]


def _differ(states: list[PathStates], old: Record | None, new: Record) -> bool:
    return any((one.of(old) if old else b"") != one.of(new) for one in states)


def _states_of(state: State, paths: list[bytes]) -> list[PathStates]:
    damaged: dict[str, RewindError] = {}
    return [PathStates(state, path, damaged) for path in paths]
