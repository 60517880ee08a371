"""The result of merging some spans into the project, read like a checkpoint."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from rewind.checkpoint.operation_log import operations as ops
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.records.source import KeptPath, Source
from rewind.checkpoint.rewind.merge_turns.merging import Merging
from rewind.checkpoint.select.spans import Span
from rewind.errors import ChangedSincePlan, PathNotChanged
from rewind.snapshot.merge.hunk_merge import HunkMerge
from rewind.snapshot.merge.tree_merge import (
    CHANGED_HERE,
    CHANGED_SINCE,
    MOST_BYTES,
    Conflict,
    Side,
    TreeMerge,
)
from rewind.snapshot.rules.rules import Rules
from rewind.snapshot.scan.build import Snapshot
from rewind.snapshot.scan.live import read_live
from rewind.snapshot.trees.change import Paths
from rewind.snapshot.trees.content import whole
from rewind.snapshot.trees.tree import CHUNKED, FILE, Tree, TreeEntry, decode_pieces
from rewind.store.blobs import oid_of
from rewind.words import explain, printable, quoted

if TYPE_CHECKING:
    from rewind.store.blobs import Blobs

_NOW = "now"


class InConflict(KeptPath):
    """A path with a conflict: both sides changed it."""

    __slots__ = ("lines",)

    def __init__(self, conflict: Conflict) -> None:
        super().__init__(conflict.path, conflict.reason, conflict=True)
        self.lines = conflict.lines

    def remark(self) -> str:
        where = ", ".join(_lines(first, count) for first, count in self.lines)
        return f"conflict: {explain(self.reason)}" + (f", {where}" if where else "")


def _lines(first: int, count: int) -> str:
    if not count:
        return f"before line {first}"
    return f"line {first}" if count == 1 else f"lines {first}-{first + count - 1}"


class MergedSource(Source):
    """Reads like a checkpoint: trees and blobs of the project as it was at the last scan, of the spans, and
    those that the merge made."""

    def __init__(self, state: State, record: Record, wanted: Merging) -> None:
        super().__init__(state, record)
        self.state = state
        self.wanted = wanted
        self.made: dict[bytes, bytes] = {}
        self.snapshot: Snapshot | None = None
        self.conflicts: list[Conflict] = []
        self.settled: list[Conflict] = []
        self.unknown: dict[bytes, str] = {}
        self.removed: set[bytes] = set()
        self._stack = ExitStack()
        self._sources: dict[str, Source] = {}
        self.blobs: Blobs = self

    def __enter__(self) -> MergedSource:
        try:
            for span in self.wanted.spans:
                for record in filter(None, (span.before, span.after)):
                    if record.name not in self._sources:
                        self._sources[record.name] = self._stack.enter_context(Source(self.state, record))
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    # what a source gives

    def get(self, oid: bytes) -> bytes:
        if oid in self.made:
            return self.made[oid]
        return self._store_of(oid).get(oid)

    def has(self, oid: bytes) -> bool:
        return oid in self.made or self._store_of(oid).has(oid)

    def _store_of(self, oid: bytes) -> Blobs:
        stores = [source.blobs for source in self._sources.values() if source.blobs is not self.state.objects]
        return next((store for store in stores if store.has(oid)), self.state.objects)

    def tree(self, oid: bytes) -> Tree:
        if oid in self.made:
            return Tree.decode(self.made[oid])
        for source in self._sources.values():
            if source.blobs is not self.state.objects and source.blobs.has(oid):
                return source.tree(oid)
        return self.snapshot.tree(oid) if self.snapshot else super().tree(oid)

    def rules(self) -> Rules:
        return self.state.rules()

    def merge_into(self, snapshot: Snapshot, looked_for: frozenset[bytes]) -> None:
        """Merge the spans into the project as it is in this scan."""
        self.snapshot = snapshot
        self.made, self.conflicts, self.settled, self.unknown = {}, [], [], {}
        paths, touched = Paths(self.wanted.target.paths), set()
        root = snapshot.root
        for span in self.wanted.spans:
            work = self._merge(span, root, paths, looked_for)
            root = work.root()
            self.conflicts += work.conflicts
            self.settled += work.settled
            self.unknown.update(work.unknown)
            touched.update(work.touched)
        self.record.code["tree"] = root.hex()
        self.removed = touched
        for path in paths.paths or ():
            if not any(Paths([path]).covers(one) for one in (*touched, *self.unknown)):
                raise PathNotChanged(path=path.decode("utf-8", "surrogateescape"), what=self.wanted.what())

    def _merge(self, span: Span, root: bytes, paths: Paths, looked_for: frozenset[bytes]) -> TreeMerge:
        ours = Side(root, self.tree, self._read_ours)
        before = self._side(span.before)
        after = self._side(span.after) if span.after else ours
        revert = self.wanted.command == ops.REVERT
        base, theirs = (after, before) if revert else (before, after)
        label = f"{'before' if revert else 'after'} {span.label}" + (
            f": {quoted(printable(span.prompt))}" if span.prompt else "")
        more: dict[str, Any] = {
            "how": self.wanted.target.how, "labels": (_NOW, label), "paths": paths,
            "gone": CHANGED_SINCE if revert else CHANGED_HERE,
            "looked_for": looked_for, "frozen": frozenset(conflict.path for conflict in self.conflicts)}
        if self.wanted.parts:
            return HunkMerge(base, ours, theirs, self._put, self.wanted.parts, **more)
        return TreeMerge(base, ours, theirs, self._put, **more)

    def _side(self, record: Record) -> Side:
        source = self._sources[record.name]
        return Side(record.tree, source.tree, lambda path, entry: source.read(path, entry, MOST_BYTES))

    def _put(self, data: bytes) -> bytes:
        oid = oid_of(data)
        self.made[oid] = data
        return oid

    def _read_ours(self, path: bytes, entry: TreeEntry) -> bytes | None:
        """The merged content, else the content of the file itself if it is still as the scan has seen it."""
        if entry.size > MOST_BYTES:
            return None
        if self._has_all(entry):
            return whole(entry, self)
        data = read_live(self.state.root, path, MOST_BYTES + 1)
        if data is None or len(data) != entry.size or (entry.kind == FILE and oid_of(data) != entry.ref):
            raise ChangedSincePlan(paths=path.decode("utf-8", "surrogateescape"))
        return data

    def _has_all(self, entry: TreeEntry) -> bool:
        if not self.has(entry.ref):
            return False
        return entry.kind != CHUNKED or all(self.has(oid) for _, oid in decode_pieces(self.get(entry.ref)))

    def removes(self, path: bytes) -> bool:
        """Whether the merge deletes this path, which it does even if the path is ignored."""
        return path in self.removed

    def settled_conflicts(self) -> list[KeptPath]:
        return [InConflict(conflict) for conflict in self.settled]

    def kept(self) -> list[KeptPath]:
        return [*(InConflict(conflict) for conflict in self.conflicts),
                *(KeptPath(path, reason) for path, reason in sorted(self.unknown.items()))]
