"""The content of a checkpoint, read in the same way from either format."""

from __future__ import annotations

import os
from _thread import get_ident  # `threading` is slow to load

from rewind.checkpoint.records.record import ARCHIVE, Record
from rewind.errors import ArchiveRefused, StoreDamaged
from rewind.snapshot.rules.rules import Rules
from rewind.snapshot.trees.change import Paths, differences
from rewind.snapshot.trees.content import whole
from rewind.snapshot.trees.tree import MISSING, Tree, TreeEntry
from rewind.store.objects import ObjectStore, remove_database
from rewind.words import explain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from rewind.checkpoint.project.state import State
    from rewind.snapshot.scan.build import Snapshot
    from rewind.snapshot.trees.change import Difference
    from rewind.store.blobs import Blobs


class KeptPath:
    """A path that a restore leaves as it is, and why: the checkpoint says nothing about it, or it could not
    be restored."""

    __slots__ = ("conflict", "path", "reason")

    def __init__(self, path: bytes, reason: str, conflict: bool = False) -> None:
        self.path = path
        self.reason = reason
        self.conflict = conflict  # the checkpoint has this path, but it stays as it is now

    def remark(self) -> str:
        return f"kept: {explain(self.reason)}"


class Source:
    """`with Source(state, record) as source:` gives the trees, the blobs and the rules of a checkpoint."""

    def __init__(self, state: State, record: Record, blobs: Blobs | None = None) -> None:
        """`blobs` are used instead of the object store when the store itself may be damaged."""
        self.record = record
        self._state = state
        self._temporary: ObjectStore | None = None
        self._trees: dict[bytes, Tree] = {}
        self._instead = blobs
        self.blobs: Blobs
        self.skip_missing = False  # skip damaged content; the caller reports it
        self.lost_trees: set[bytes] = set()
        self.leaving: Source | None = None  # what the operation that is undone had restored

    def __enter__(self) -> Source:
        if self.leaving:
            self.leaving.__enter__()
        try:
            self._temporary = self._unpack() if self.record.format == "archive" else None
            self.blobs = self._temporary or self._instead or self._state.objects
        except BaseException:
            if self.leaving:
                self.leaving.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        if self.leaving:
            self.leaving.__exit__()
        if self._temporary:
            self._temporary.close()
            remove_database(self._temporary.path)

    def tree(self, oid: bytes) -> Tree:
        tree = self._trees.get(oid)
        if tree is None:
            tree = self._trees[oid] = self._read_tree(oid)
        return tree

    def _read_tree(self, oid: bytes) -> Tree:
        try:
            return Tree.decode(self.blobs.get(oid))
        except StoreDamaged:
            if not self.skip_missing or oid == self.record.tree:
                raise
            # Its entries are unknown, so nothing in it is written or deleted.
            self.lost_trees.add(oid)
            return Tree({}, MISSING)

    def read(self, path: bytes, entry: TreeEntry, limit: int) -> bytes | None:
        """A file's content, in the form for `compare`; None if it is longer than `limit`."""
        return whole(entry, self.blobs) if entry.size <= limit else None

    # for a checkpoint that is merged from the current project: `rewind/merge_turns/merged_source.py`

    def merge_into(self, snapshot: Snapshot, looked_for: frozenset[bytes]) -> None:
        """Called after each scan of the project. `looked_for` are paths that the scan captured whatever the
        rules say."""

    def removes(self, path: bytes) -> bool:
        """Whether a path is deleted although the rules would keep it."""
        return False

    def kept(self) -> list[KeptPath]:
        """Paths that stay as they are, besides those that the trees tell."""
        return []

    def settled_conflicts(self) -> list[KeptPath]:
        """Conflicts that the person said how to settle."""
        return []

    def rules(self) -> Rules:
        try:
            return Rules.from_json(self.blobs.get(self.record.rules))
        except (ValueError, KeyError, TypeError, RecursionError, AttributeError):
            raise StoreDamaged(what=f"the rules of {self.record.name} are not readable")

    def _unpack(self) -> ObjectStore:
        """Unpack a tar.gz, which has no random access, into a temporary store."""
        from rewind.snapshot.archive.portable import read_snapshot

        path = self._state.files.path(self.record.name, ARCHIVE)
        if not os.path.exists(path):
            raise StoreDamaged(what=f"{path} is missing")
        # Threads of the web server may open the same archive.
        name = f"temporary-{os.getpid()}-{get_ident()}-{self.record.name}.db"
        store = ObjectStore(self._state.project.path(name), create=True)
        try:
            found = read_snapshot(path, store, allow_links_out=True, max_bytes=1 << 50)
            if found.root != self.record.tree:
                raise StoreDamaged(what=f"{path} does not hold what its record says")
            store.put(found.rules)
            store.commit()
        except ArchiveRefused as error:
            store.close()
            remove_database(store.path)
            raise StoreDamaged(what=error.message)
        except BaseException:
            store.close()
            remove_database(store.path)
            raise
        return store


def between(old: Source, new: Source) -> Iterator[Difference]:
    """(path, old entry, new entry) of everything that differs."""
    return differences(old.record.tree, old.tree, new.record.tree, new.tree, Paths())
