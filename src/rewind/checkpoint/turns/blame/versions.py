"""The versions of one file along the line of checkpoints, newest first, through renames. Each tree is read
once, and content only if the file's object changed."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from rewind.checkpoint.operation_log.lineage import Lineage
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.records.source import Source
from rewind.errors import RewindError, StoreDamaged
from rewind.snapshot.diff.rename import renamed_from
from rewind.snapshot.trees.change import Paths, differences
from rewind.snapshot.trees.content import whole
from rewind.snapshot.trees.listing import entry_at
from rewind.snapshot.trees.tree import FILES, UNCOVERED, Tree, TreeEntry

if TYPE_CHECKING:
    from rewind.store.blobs import Blobs


class Version:
    """A version of a file. `record` is the oldest of the checkpoints in a row that have it."""

    def __init__(self, record: Record, path: bytes, entry: TreeEntry, data: bytes) -> None:
        self.record = record
        self.path = path
        self.entry = entry
        self.data = data


class FileVersions:
    """`with versions:` removes the unpacked archives at the end."""

    def __init__(self, state: State, parents: Lineage) -> None:
        self._state = state
        self._parents = parents
        self._trees: dict[bytes, Tree] = {}
        self._stack = ExitStack()
        self._archive: tuple[str, Blobs] | None = None  # the one that is unpacked
        self.damaged: dict[str, RewindError] = {}

    def __enter__(self) -> FileVersions:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    # walking

    def newest(self, record: Record | None, path: bytes) -> Version | None:
        """The version in a checkpoint; None if the file does not exist there. A checkpoint that did not
        capture the file is skipped."""
        record, entry = self._known(record, path)
        return self._version(record, path, entry) if record and entry and entry.kind in FILES else None

    def before(self, version: Version) -> Version | None:
        """The version before this one; None if the file was new."""
        parent, entry = self._known(self._parents.parent(version.record.name), version.path)
        if parent is None:
            return None
        if entry:
            return self._version(parent, version.path, entry) if entry.kind in FILES else None
        path = self._renamed_from(parent, version)
        return self.newest(parent, path) if path else None

    def _version(self, record: Record, path: bytes, entry: TreeEntry) -> Version | None:
        data = self.content(record, entry)
        while True:
            parent = self._parents.parent(record.name)
            found = self._entry_or_none(parent, path) if parent else None
            if parent is None or found is None or not found.same_content(entry):
                return Version(record, path, entry, data)
            record = parent

    def _known(self, record: Record | None, path: bytes) -> tuple[Record | None, TreeEntry | None]:
        """The nearest checkpoint in which the state of the path is known, and its entry."""
        while record:
            entry = self._entry_or_none(record, path)
            if record.name not in self.damaged and not (entry and entry.kind == UNCOVERED):
                return record, entry
            record = self._parents.parent(record.name)
        return None, None

    def newest_with(self, record: Record, path: bytes) -> Record | None:
        """The nearest checkpoint on the line that holds the path."""
        return next((one for one in self._parents.line(record.name) if self._entry_or_none(one, path)), None)

    # reading

    def entry(self, record: Record, path: bytes) -> TreeEntry | None:
        return entry_at(lambda oid: self._tree(record, oid), record.tree, path)

    def _entry_or_none(self, record: Record, path: bytes) -> TreeEntry | None:
        try:
            return self.entry(record, path)
        except StoreDamaged as error:
            self.damaged[record.name] = error
            return None

    def content(self, record: Record, entry: TreeEntry) -> bytes:
        return whole(entry, self._blobs(record))

    def _tree(self, record: Record, oid: bytes) -> Tree:
        tree = self._trees.get(oid)
        if tree is None:
            tree = self._trees[oid] = Tree.decode(self._blobs(record).get(oid))
        return tree

    def _blobs(self, record: Record) -> Blobs:
        if record.format != "archive":
            return self._state.objects
        if self._archive is None or self._archive[0] != record.name:
            self._stack.close()
            source = self._stack.enter_context(Source(self._state, record))
            self._archive = record.name, source.blobs
        return self._archive[1]

    # renames

    def _renamed_from(self, parent: Record, version: Version) -> bytes | None:
        """The file that disappeared in the version's checkpoint and had the same content, or most of it."""
        record = version.record
        try:
            gone = [(path, old) for path, old, new in differences(
                parent.tree, lambda oid: self._tree(parent, oid),
                record.tree, lambda oid: self._tree(record, oid), Paths())
                if old and new is None and old.kind in FILES]
            return renamed_from(version.path, version.entry, version.data, gone,
                                lambda entry: self.content(parent, entry))
        except StoreDamaged as error:
            self.damaged[parent.name] = error
            return None
