"""Builds the tree of each shared checkpoint from its parent's tree and the changes since."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from rewind.checkpoint.share.entries import SharedEntry
from rewind.checkpoint.share.path_names import case_clashes
from rewind.errors import StoreDamaged
from rewind.snapshot.trees.tree import DIR, FILES, LINK, UNCOVERED, Tree, TreeEntry, check_depth
from rewind.store.blobs import oid_of


class Count(NamedTuple):
    """What a tree holds, including the directories below it."""

    files: int
    bytes: int
    uncovered: int


class _Folder:
    """A directory that is being changed."""

    def __init__(self, tree: Tree, mode: int) -> None:
        self.entries = dict(tree.entries)
        self.partial = tree.partial
        self.mode = mode


class TreeBuilder:
    """All new trees, in memory. `files` are the contents that they name, with their sizes."""

    def __init__(self, stored: Callable[[bytes], Tree] | None = None) -> None:
        """`stored` reads a tree that is here already."""
        self.blobs: dict[bytes, bytes] = {}
        self.files: dict[bytes, int] = {}
        self._trees: dict[bytes, Tree] = {}
        self._counts: dict[bytes, Count] = {}
        self._stored = stored

    def tree(self, oid: bytes) -> Tree:
        found = self._trees.get(oid)
        if found is None:
            if self._stored is None:
                raise StoreDamaged(what=f"the tree {oid.hex()} is missing")
            found = self._trees[oid] = self._stored(oid)
        return found

    def apply(self, root: bytes | None, changes: Iterable[SharedEntry]) -> bytes:
        """The root of a new tree. Raises ValueError if a change is impossible."""
        opened = {b"": _Folder(self.tree(root) if root else Tree({}), 0)}
        for change in changes:
            self._change(opened, change)
        return self._close(opened)

    def _change(self, opened: dict[bytes, _Folder], change: SharedEntry) -> None:
        if not change.path:
            opened[b""].partial = change.partial
            return
        above, _, name = change.path.rpartition(b"/")
        folder = self._open(opened, above)
        known, entry = folder.entries.get(name), change.entry
        if entry and entry.kind == DIR and known and known.kind == DIR:
            same = self._open(opened, change.path)
            same.mode, same.partial = entry.mode, change.partial
            return
        if known and known.kind == DIR:
            inside = change.path + b"/"
            for path in [path for path in opened if path == change.path or path.startswith(inside)]:
                del opened[path]
        if entry is None:
            folder.entries.pop(name, None)
            return
        folder.entries[name] = entry
        if entry.kind == DIR:
            opened[change.path] = _Folder(Tree({}, change.partial), entry.mode)
        elif entry.kind in FILES and self.files.setdefault(entry.ref, entry.size) != entry.size:
            raise ValueError(f"the content {entry.ref.hex()} has two sizes")

    def _open(self, opened: dict[bytes, _Folder], path: bytes) -> _Folder:
        found = opened.get(path)
        if found is None:
            check_depth(path)
            above, _, name = path.rpartition(b"/")
            entry = self._open(opened, above).entries.get(name)
            if entry is None or entry.kind != DIR:
                where = "in no directory" if entry is None else "below a file or a link"
                raise ValueError(f"something in it lies {where}: {path!a:.200}")
            found = opened[path] = _Folder(self.tree(entry.ref), entry.mode)
        return found

    def _close(self, opened: dict[bytes, _Folder]) -> bytes:
        """From the leaves to the root. Every directory above an open one is open."""
        oid = b""
        for path in sorted(opened, key=lambda path: (path.count(b"/") + bool(path), path), reverse=True):
            folder = opened[path]
            _check_case(path, folder.entries)
            oid = self._put(Tree(folder.entries, folder.partial))
            if path:
                above, _, name = path.rpartition(b"/")
                opened[above].entries[name] = TreeEntry(DIR, folder.mode, 0, oid)
        return oid

    def _put(self, tree: Tree) -> bytes:
        blob = tree.encode()
        oid = oid_of(blob)
        if oid not in self._trees:
            self._trees[oid], self.blobs[oid] = tree, blob
        return oid

    def count(self, root: bytes) -> Count:
        known = self._counts.get(root)
        if known is None:
            entries = self.tree(root).entries.values()
            below = [self.count(entry.ref) for entry in entries if entry.kind == DIR]
            files = [entry for entry in entries if entry.kind in (*FILES, LINK)]
            known = self._counts[root] = Count(
                len(files) + sum(one.files for one in below),
                sum(entry.size for entry in files) + sum(one.bytes for one in below),
                sum(entry.kind == UNCOVERED for entry in entries) + sum(one.uncovered for one in below))
        return known


def _check_case(path: bytes, entries: dict[bytes, TreeEntry]) -> None:
    for other, name in case_clashes(entries):
        raise ValueError(f"{other!a:.100} and {name!a:.100} in {path!a:.100} are one name where case does not"
                         " count")
