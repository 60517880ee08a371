"""How often each file changed along the line to a checkpoint, and in which checkpoint it changed last."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack

from rewind.checkpoint.operation_log.lineage import lineage
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.records.source import Source
from rewind.errors import StoreDamaged
from rewind.snapshot.trees.change import Paths, differences
from rewind.snapshot.trees.listing import every_path
from rewind.snapshot.trees.tree import DIR, Tree


class Heat:
    """`times` and `last` are by path, and include files that are gone."""

    def __init__(self) -> None:
        self.times: dict[bytes, int] = {}
        self.last: dict[bytes, Record] = {}
        self.gone: set[bytes] = set()  # files that no longer exist at the checkpoint
        self.complete = True  # False if the oldest checkpoints were not compared in time

    def add(self, path: bytes, record: Record, is_gone: bool) -> None:
        """From the newest to the oldest."""
        if path not in self.last:
            self.last[path] = record
            if is_gone:
                self.gone.add(path)
        self.times[path] = self.times.get(path, 0) + 1


def file_heat(state: State, name: str, patience: float) -> Heat:
    """Files of the first checkpoint have not changed yet. Damaged checkpoints are skipped."""
    parents, found = lineage(state), Heat()
    until = time.monotonic() + patience
    known: dict[bytes, Tree] = {}  # shared, because most directories are the same in most checkpoints
    newer: Record | None = None
    for record in parents.line(name):
        if time.monotonic() > until:
            found.complete = False
            return found
        try:
            if newer:
                _compare(state, record, newer, known, found)
        except StoreDamaged:
            if newer and _is_readable(state, newer, known):
                continue
        newer = record
    return found


def _is_readable(state: State, record: Record, known: dict[bytes, Tree]) -> bool:
    try:
        with Source(state, record) as source:
            for _ in every_path(record.tree, _trees(source, known)):
                pass
    except StoreDamaged:
        return False
    return True


def _compare(state: State, old: Record, new: Record, known: dict[bytes, Tree], found: Heat) -> None:
    with ExitStack() as stack:
        before, after = (_trees(stack.enter_context(Source(state, record)), known) for record in (old, new))
        for path, was, now in differences(old.tree, before, new.tree, after, Paths()):
            if any(entry and entry.kind != DIR for entry in (was, now)):
                found.add(path, new, now is None)


def _trees(source: Source, known: dict[bytes, Tree]) -> Callable[[bytes], Tree]:
    def tree(oid: bytes) -> Tree:
        if oid not in known:
            known[oid] = source.tree(oid)
        return known[oid]

    return tree
