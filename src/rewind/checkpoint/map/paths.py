"""Which rows of the map, and which checkpoints, changed certain paths."""

from __future__ import annotations

from rewind.checkpoint.search.file_log import Marks
from rewind.errors import RewindError
from rewind.snapshot.trees.change import Paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.map.turn_map import MapRow
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record


class _Compared:
    """Is a path the same in two checkpoints? Each is asked once."""

    def __init__(self, state: State, paths: list[bytes]) -> None:
        self._state = state
        self._records: dict[str, Record | None] = {}
        damaged: dict[str, RewindError] = {}
        self._marks = [Marks(state, path, damaged) for path in paths]

    def differ(self, before: str, after: str) -> bool:
        new, old = self._record(after), self._record(before) if before else None
        if new is None:
            return False
        return _differ(self._marks, old, new)

    def _record(self, name: str) -> Record | None:
        if name not in self._records:
            try:
                self._records[name] = self._state.files.read(name)
            except RewindError:
                self._records[name] = None
        return self._records[name]


def touching(state: State, rows: list[MapRow], paths: list[bytes]) -> list[MapRow]:
    compared = _Compared(state, paths)
    wanted = Paths(paths)
    found = []
    for row in rows:
        if row.op:
            concerned = row.op.paths is None or any(wanted.touches(path) for path in row.op.paths)
            differs = concerned and bool(row.op.checkpoint) and compared.differ(row.op.before,
                                                                                row.op.checkpoint)
        else:
            differs = bool(row.after) and compared.differ(row.before.name if row.before else "",
                                                          row.after.name if row.after else "")
        if differs:
            found.append(row)
    return found


def checkpoints_touching(state: State, records: list[Record], paths: list[bytes]) -> list[Record]:
    """Those in which a path is not as it was in the one they came from."""
    from rewind.checkpoint.rewind.log.lineage import lineage

    parents = lineage(state)
    damaged: dict[str, RewindError] = {}
    marks = [Marks(state, path, damaged) for path in paths]
    return [record for record in records if _differ(marks, parents.parent(record.name), record)]


def _differ(marks: list[Marks], old: Record | None, new: Record) -> bool:
    return any((one.of(old) if old else b"") != one.of(new) for one in marks)
