"""Finds a text in the files of checkpoints. Each version of a file is searched once, in the newest checkpoint
that has it."""

from __future__ import annotations

from collections.abc import Iterator

from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.records.source import Source
from rewind.errors import RewindError
from rewind.snapshot.diff.textdiff import is_binary
from rewind.snapshot.trees.content import whole
from rewind.snapshot.trees.tree import DIR, FILES, TreeEntry

_LARGEST = 2 << 20
_LONGEST = 400  # characters of a line


class CodeFound:
    __slots__ = ("line", "path", "record", "text")

    def __init__(self, record: Record, path: bytes, line: int, text: str) -> None:
        self.record = record
        self.path = path
        self.line = line
        self.text = text


def search_code(state: State, text: str, *, any_case: bool = False,
                damaged: dict[str, RewindError] | None = None) -> Iterator[CodeFound]:
    """Newest checkpoint first. Unreadable checkpoints go to `damaged`."""
    wanted = text.encode("utf-8", "surrogateescape")
    seen: set[tuple[bytes, bytes]] = set()  # (path, tree or content)
    for record in state.timeline.shown():
        try:
            with Source(state, record) as source:
                for path, entry in _unseen(source, record.tree, seen):
                    yield from _in_file(record, path, source, entry, wanted, any_case)
        except RewindError as error:
            if damaged is not None:
                damaged[record.name] = error


def _unseen(source: Source, root: bytes, seen: set[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, TreeEntry]]:
    pending = [(b"", root)]
    while pending:
        prefix, oid = pending.pop()
        if (prefix, oid) in seen:
            continue
        seen.add((prefix, oid))
        for name, entry in sorted(source.tree(oid).entries.items()):
            path = prefix + name
            if entry.kind == DIR:
                pending.append((path + b"/", entry.ref))
            elif entry.kind in FILES and (path, entry.ref) not in seen:
                seen.add((path, entry.ref))
                yield path, entry


def _in_file(record: Record, path: bytes, source: Source, entry: TreeEntry, wanted: bytes,
             any_case: bool) -> Iterator[CodeFound]:
    if entry.size > _LARGEST:
        return
    data = whole(entry, source.blobs)
    if is_binary(data) or not _holds(data, wanted, any_case):
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        if _holds(line, wanted, any_case):
            yield CodeFound(record, path, number, line.decode("utf-8", "replace").strip()[:_LONGEST])


def _holds(data: bytes, wanted: bytes, any_case: bool) -> bool:
    if not any_case:
        return wanted in data
    return wanted.decode("utf-8", "replace").lower() in data.decode("utf-8", "replace").lower()
