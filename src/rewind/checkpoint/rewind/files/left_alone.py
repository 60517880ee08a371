"""Names that operations left alone because they were ignored or not captured. Later operations leave them
alone as well, until an ordinary checkpoint has captured them: an operation may remove the ignore file that
protected them."""

from __future__ import annotations

import os

from rewind.checkpoint.operation_log.lineage import is_ordinary
from rewind.checkpoint.records.source import Source
from rewind.checkpoint.rewind.files.file_plan import MOUNT_POINT, NOT_EMPTY, RestorePlan
from rewind.errors import RewindError
from rewind.snapshot.trees.listing import entry_at
from rewind.snapshot.trees.tree import DIR, UNCOVERED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rewind.checkpoint.operation_log.operations import Operation
    from rewind.checkpoint.project.state import State

_ROOM = 256 << 10  # bytes of names in one operation


class LeftAlone:
    def __init__(self, state: State, operations: Iterable[Operation]) -> None:
        self._state = state
        self._since: dict[bytes, int] = {}  # name -> the newest checkpoint when it was last left alone
        self._wide: set[bytes] = set()  # directories that stand for unknown names in them
        for op in operations:
            for path in op.left_alone:
                name = path.rstrip(b"/")
                self._since[name] = max(op.sequence, self._since.get(name, 0))
                if path != name:
                    self._wide.add(name)
        self._known: dict[bytes, bool] = {}

    def covers(self, path: bytes) -> bool:
        if not self._since:
            return False
        return any(name in self._since and not self._is_captured(name) for name in _with_parents(path))

    def _is_captured(self, name: bytes) -> bool:
        if name in self._wide:
            return False
        if name not in self._known:
            self._known[name] = self._look(name, self._since[name])
        return self._known[name]

    def _look(self, name: bytes, since: int) -> bool:
        for record in reversed(self._state.timeline.all()):
            if record.sequence <= since:
                return False
            if not is_ordinary(record) or record.place != self._state.place:
                continue
            try:
                with Source(self._state, record) as source:
                    entry = entry_at(source.tree, record.tree, name)
            except RewindError:
                continue  # damaged: what it captured cannot be restored
            if entry and entry.kind != UNCOVERED:
                return True
        return False


def _not_recorded(state: State, source: Source, path: bytes) -> Iterator[bytes]:
    """The path itself; for a directory of the checkpoint, the names in it that the checkpoint does not
    have."""
    entry = entry_at(source.tree, source.record.tree, path) if path else None
    if path and (entry is None or entry.kind != DIR):
        yield path
        return
    recorded = source.tree(entry.ref if entry else source.record.tree).entries
    try:
        names = os.listdir(os.path.join(state.root, path))
    except OSError:
        return  # deleted meanwhile
    yield from (path + b"/" + name if path else name for name in names if name not in recorded)


def _with_parents(path: bytes) -> Iterator[bytes]:
    while path:
        yield path
        path = os.path.dirname(path)


def names_to_note(state: State, source: Source, plan: RestorePlan) -> list[str]:
    """What this plan leaves alone. If that is too much for one line, directories stand for the names in them.
    Then too much is left alone, but never too little."""
    names = {name for kept in plan.kept if not kept.conflict and kept.reason not in (NOT_EMPTY, MOUNT_POINT)
             for name in _not_recorded(state, source, kept.path)}
    while sum(map(len, names)) > _ROOM:
        depth = max(name.rstrip(b"/").count(b"/") for name in names)
        if not depth:
            break  # too many names at the top, where no directory can stand for them
        names = {os.path.dirname(name.rstrip(b"/")) + b"/" if name.rstrip(b"/").count(b"/") == depth else name
                 for name in names}
    return sorted(os.fsdecode(name) for name in names)
