"""Which rows of the map, and which checkpoints, changed certain paths."""

from __future__ import annotations

from functools import cache

from rewind.checkpoint.search.file_log import Marks
from rewind.snapshot.trees.change import Paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.map.turn_map import MapRow
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record
    from rewind.errors import RewindError


def touching(state: State, rows: list[MapRow], paths: list[bytes]) -> list[MapRow]:
    marks, wanted, find = _marks(state, paths), Paths(paths), cache(state.files.find)
    found = []
    for row in rows:
        if row.op:
            concerned = row.op.paths is None or any(wanted.touches(path) for path in row.op.paths)
            before, after = row.op.before, row.op.checkpoint if concerned else ""
        else:
            before, after = row.before.name if row.before else "", row.after.name if row.after else ""
        new = find(after)
        if new and _differ(marks, find(before), new):
            found.append(row)
    return found


def checkpoints_touching(state: State, records: list[Record], paths: list[bytes]) -> list[Record]:
    """Those in which a path is not as it was in the one they came from."""
    from rewind.checkpoint.rewind.log.lineage import lineage

    parents = lineage(state)
    marks = _marks(state, paths)
    return [record for record in records if _differ(marks, parents.parent(record.name), record)]


def _differ(marks: list[Marks], old: Record | None, new: Record) -> bool:
    return any((one.of(old) if old else b"") != one.of(new) for one in marks)


def _marks(state: State, paths: list[bytes]) -> list[Marks]:
    damaged: dict[str, RewindError] = {}
    return [Marks(state, path, damaged) for path in paths]
