"""Which checkpoints changed a path, newest first, and after which prompt."""

from __future__ import annotations

from contextlib import ExitStack

from rewind.checkpoint.last_prompt import LastPrompts
from rewind.checkpoint.source import Source
from rewind.errors import NOT_FOUND, RewindError, StoreDamaged
from rewind.snapshot.change import Paths, differences
from rewind.snapshot.compare import compare
from rewind.snapshot.content import whole
from rewind.snapshot.listing import entry_at
from rewind.snapshot.tree import EMPTY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from rewind.checkpoint.last_prompt import LastPrompt
    from rewind.checkpoint.record import Record
    from rewind.checkpoint.state import State
    from rewind.snapshot.compare import Comparison, Read
    from rewind.snapshot.tree import Entry

    Changed = tuple[bytes, "Entry | None", "Entry | None"]


class PathNeverSeen(RewindError):
    """No checkpoint holds {path}"""

    exit_code = NOT_FOUND
    hint = "Run `rewind show last --files` to see what the newest one holds."


class LogEntry:
    """A checkpoint in which a path is not as it was in the one before. To be used before the next is asked
    for: its content is open until then."""

    def __init__(self, record: Record, changes: list[Changed], read_old: Read, read_new: Read,
                 prompt: LastPrompt | None) -> None:
        self.record = record
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
    for record, before in reversed(_pairs(state, path, damaged)):
        with ExitStack() as stack:
            try:
                new = stack.enter_context(Source(state, record))
                old = stack.enter_context(Source(state, before)) if before else None
                changes = _changes(old, new, path)
            except StoreDamaged as error:
                damaged[record.name] = error
                continue
            if changes:
                yield LogEntry(record, changes, _reader(old), _reader(new), prompts.before(record))


def _pairs(state: State, path: bytes, damaged: dict[str, RewindError]) -> list[tuple[Record, Record | None]]:
    """The checkpoints in which the path is not as in the one before, and that one, oldest first.

    Restores put files back, so a backup is worth a line only where it holds what no checkpoint has.
    """
    found: list[tuple[Record, Record | None]] = []
    last, before = b"", None
    seen = {last}
    for record in state.timeline.all():
        if record.data.get("imported"):
            continue  # never a state of this project
        try:
            mark = _mark(state, record, path)
        except StoreDamaged as error:
            damaged[record.name] = error
            continue
        is_backup = record.kind == "backup"
        if mark != last and not (is_backup and mark in seen):
            found.append((record, before))
        seen.add(mark)
        if not is_backup:
            last, before = mark, record
    return found


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


def _reader(side: Source | None) -> Read:
    def read(path: bytes, entry: Entry, limit: int) -> bytes | None:
        return whole(entry, side.blobs) if side and entry.size <= limit else None

    return read
