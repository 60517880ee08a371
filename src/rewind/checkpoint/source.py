"""A checkpoint's content, read the same way whichever format holds it."""

from __future__ import annotations

import os

from rewind.checkpoint.record import ARCHIVE
from rewind.errors import ArchiveRefused, StoreDamaged
from rewind.snapshot.rules import Rules
from rewind.snapshot.tree import Tree
from rewind.store.objects import ObjectStore, remove_database

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from rewind.checkpoint.record import Record
    from rewind.checkpoint.state import State
    from rewind.store.blobs import Blobs


class Source:
    """`with Source(state, record) as source:` gives trees, blobs and the rules of that moment."""

    def __init__(self, state: State, record: Record) -> None:
        self.record = record
        self._state = state
        self._temporary: ObjectStore | None = None
        self._trees: dict[bytes, Tree] = {}
        self.blobs: Blobs

    def __enter__(self) -> Source:
        if self.record.format == "archive":
            self._temporary = self._unpack()
        self.blobs = self._temporary or self._state.objects
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._temporary:
            self._temporary.close()
            remove_database(self._temporary.path)

    def tree(self, oid: bytes) -> Tree:
        tree = self._trees.get(oid)
        if tree is None:
            tree = self._trees[oid] = Tree.decode(self.blobs.get(oid))
        return tree

    def rules(self) -> Rules:
        try:
            return Rules.from_json(self.blobs.get(self.record.rules))
        except (ValueError, KeyError, TypeError, RecursionError, AttributeError):
            raise StoreDamaged(what=f"the rules of {self.record.name} are not readable")

    def _unpack(self) -> ObjectStore:
        """A tar.gz has no random access; unpacked into a store of its own it reads like any other."""
        from rewind.snapshot.portable import read_snapshot

        path = self._state.files.path(self.record.name, ARCHIVE)
        if not os.path.exists(path):
            raise StoreDamaged(what=f"{path} is missing")
        store = ObjectStore(self._state.project.path(f"temporary-{os.getpid()}-{self.record.name}.db"),
                            create=True)
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
