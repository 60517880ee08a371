"""What differs between two checkpoints, or between a checkpoint and the project as it is now."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager

from rewind.checkpoint.records.source import Source
from rewind.errors import PathNotFound
from rewind.snapshot.trees.change import Paths, differences
from rewind.snapshot.trees.listing import entry_at
from rewind.snapshot.trees.tree import UNCOVERED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record
    from rewind.snapshot.scan.build import Progress, Snapshot
    from rewind.snapshot.trees.tree import Tree, TreeEntry


class Side:
    """One side of a comparison: the tree of a checkpoint, or of the project as it is now."""

    is_checkpoint = False

    def __init__(self, name: str, root: bytes, source: Source | Snapshot) -> None:
        self.name = name
        self.root = root
        self._source = source

    def tree(self, oid: bytes) -> Tree:
        return self._source.tree(oid)

    def content(self, path: bytes, entry: TreeEntry, limit: int) -> bytes | None:
        """The bytes of a file. None if there are more than `limit`, or if they cannot be read."""
        raise NotImplementedError


class _CheckpointSide(Side):
    is_checkpoint = True

    def __init__(self, record: Record, source: Source) -> None:
        super().__init__(record.name, record.tree, source)
        self._blobs = source.blobs

    def content(self, path: bytes, entry: TreeEntry, limit: int) -> bytes | None:
        from rewind.snapshot.trees.content import whole

        return whole(entry, self._blobs) if entry.size <= limit else None


class _ProjectSide(Side):
    def __init__(self, state: State, progress: Progress | None) -> None:
        snapshot = state.look(progress=progress)
        super().__init__("now", snapshot.root, snapshot)
        self._folder = state.root

    def content(self, path: bytes, entry: TreeEntry, limit: int) -> bytes | None:
        from rewind.snapshot.scan.live import read_live

        return read_live(self._folder, path, limit) if entry.size <= limit else None


class Difference:
    """Paths that differ: (path, entry before, entry after)."""

    def __init__(self, old: Side, new: Side,
                 changes: list[tuple[bytes, TreeEntry | None, TreeEntry | None]],
                 not_captured: list[tuple[bytes, str]]) -> None:
        self.old = old
        self.new = new
        self.changes = changes
        self.not_captured = not_captured  # the named paths that a side did not capture, with the reason

    @property
    def added(self) -> list[bytes]:
        return [path for path, old, _ in self.changes if old is None]

    @property
    def modified(self) -> list[bytes]:
        return [path for path, old, new in self.changes if old and new]

    @property
    def deleted(self) -> list[bytes]:
        return [path for path, _, new in self.changes if new is None]


@contextmanager
def side(state: State, record: Record | None, progress: Progress | None = None) -> Iterator[Side]:
    """A checkpoint, or without a record the project as it is now."""
    if record is None:
        yield _ProjectSide(state, progress)
        return
    with Source(state, record) as source:
        yield _CheckpointSide(record, source)


@contextmanager
def difference(state: State, old: Record, new: Record | None, paths: list[bytes] | None = None,
               progress: Progress | None = None) -> Iterator[Difference]:
    """Without `new`, the project as it is now is compared."""
    with ExitStack() as stack:
        before = stack.enter_context(side(state, old))
        after = stack.enter_context(side(state, new, progress))
        not_captured = _not_captured(before, after, paths)
        found = differences(before.root, before.tree, after.root, after.tree, Paths(paths))
        yield Difference(before, after, list(found), not_captured)


def _not_captured(before: Side, after: Side, paths: list[bytes] | None) -> list[tuple[bytes, str]]:
    """A named path that neither side captured must not look unchanged. One that neither knows is refused."""
    found = {}
    for path in Paths(paths).paths or ():
        entries = [entry_at(side.tree, side.root, path) for side in (before, after)]
        if not any(entries):
            raise PathNotFound(checkpoint=before.name, path=os.fsdecode(path))
        for entry in entries:
            if entry and entry.kind == UNCOVERED:
                found[path] = entry.ref.decode("ascii", "replace")
    return sorted(found.items())
