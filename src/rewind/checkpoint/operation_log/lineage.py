"""Where the project stands, and what each checkpoint came from.

`here` is the checkpoint that the tree stands on; the line is the chain of parents from there. A hook only
needs `here`, for which the last line of the log and the newest record are enough.
"""

from __future__ import annotations

from rewind.checkpoint.operation_log.operations import ADOPT, APPLY, FILE, OLD_FILE, REVERT, last_line
from rewind.checkpoint.records.record import FORMAT, Record
from rewind.errors import RewindError
from rewind.index import MAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.timeline import Brief

_RESULTS = (REVERT, APPLY, ADOPT)


def here(state: State) -> Record | None:
    """The checkpoint that this place stands on; None before the first one."""
    name, sequence = _position_in_log(state)
    newest = state.timeline.newest()
    if newest is None or not _is_own(state, newest):
        newest = state.timeline.newest_here(_can_be_here)
    if newest and newest.sequence > sequence:
        return newest  # the usual case
    if name:
        try:
            return state.files.read(name)
        except RewindError:
            pass  # collected or damaged: the newest is the best guess
    return newest


def here_among(state: State, briefs: Sequence[Brief]) -> str:
    """The name of `here`, for a caller that has all checkpoints already, oldest first."""
    name, sequence = _position_in_log(state)
    own = [b for b in briefs if b.place == state.place and is_ordinary(b) and b.event not in _RESULTS]
    if name and not (own and own[-1].sequence > sequence) and any(b.name == name for b in briefs):
        return name
    return own[-1].name if own else ""


def here_in_all_places(state: State) -> set[str]:
    """The names of the checkpoints that the places stand on."""
    records, found = state.timeline.all(), set()
    for place in {record.place for record in records} | set(state.places()):
        name, sequence = _position_in_log(state, place)
        own = [r.name for r in records if r.place == place and _can_be_here(r) and r.sequence > sequence]
        found |= {own[-1] if own else name}
    return found


def _position_in_log(state: State, place: str = "") -> tuple[str, int]:
    """What the last operation of a place says: the checkpoint that it led to, and the number of the newest
    checkpoint at that moment."""
    log = state.known_operations(place)
    line = log.last if log else last_line(state.project.path(FILE), place or state.place)
    if line is None:
        return _position_in_old_history(state)
    name = line.get("before" if line.get("event") == "begin" else "here")
    sequence = line.get("sequence")
    return name if isinstance(name, str) else "", sequence if isinstance(sequence, int) else 0


def _position_in_old_history(state: State) -> tuple[str, int]:
    import os

    path = state.project.path(OLD_FILE)
    if state.place != MAIN or not os.path.exists(path):
        return "", 0
    from rewind.checkpoint.operation_log import old_history

    position = old_history.position_of(path)
    record = state.timeline.with_sequence(position) if position is not None else None
    newest = state.timeline.newest()
    return (record.name, newest.sequence) if record and newest else ("", 0)


def is_ordinary(record: Record | Brief) -> bool:
    """Whether a person or a hook made it in this project: it is neither a backup nor imported."""
    return record.kind != "backup" and not record.imported


def _can_be_here(record: Record) -> bool:
    return is_ordinary(record) and not is_result(record)


def _is_own(state: State, record: Record) -> bool:
    return _can_be_here(record) and record.place == state.place


def is_result(record: Record) -> bool:
    """Whether `revert`, `apply` or `forks adopt` made it. Only the log tells whether the project stands on
    it, because a killed process may have made the checkpoint and nothing else."""
    return record.kind != "backup" and record.trigger.get("event") in _RESULTS


class Lineage:
    """The parents and children of all checkpoints of a project."""

    def __init__(self, records: list[Record], partial: frozenset[str] = frozenset()) -> None:
        """`records` are the oldest first; `partial` are backups of operations on some paths only."""
        self.records = {record.name: record for record in records}
        self.parents = parents_of(records, partial)
        self.children: dict[str, list[str]] = {}
        for name, parent in self.parents.items():
            if parent:
                self.children.setdefault(parent, []).append(name)

    def parent(self, name: str) -> Record | None:
        return self.records.get(self.parents.get(name) or "")

    def line(self, name: str) -> Iterator[Record]:
        """The checkpoint itself and its ancestors, newest first."""
        seen: set[str] = set()
        at = self.records.get(name)
        while at and at.name not in seen:
            seen.add(at.name)
            yield at
            at = self.parent(at.name)

    def fork_points(self) -> set[str]:
        """Checkpoints with more than one child. A backup without children does not count as a child."""
        def counts(name: str) -> bool:
            return self.records[name].kind != "backup" or name in self.children

        return {name for name, children in self.children.items() if sum(map(counts, children)) > 1}


def parents_of(records: Sequence[Record | Brief],
               partial: frozenset[str] = frozenset()) -> dict[str, str | None]:
    """The parent of each checkpoint; `records` are the oldest first."""
    known = {record.name for record in records}
    found: dict[str, str | None] = {}
    positions: dict[str, str | None] = {}  # by place
    for record in records:
        found[record.name] = _parent(record, positions, known)
        if not record.imported:
            _note_position(record, positions, partial)
    return found


def _parent(record: Record | Brief, positions: dict[str, str | None], known: set[str]) -> str | None:
    if record.imported:
        return None
    parent = record.parent if record.version >= FORMAT else positions.get(record.place)
    if parent is None or parent in known:
        return parent
    return positions.get(record.place)  # the parent is gone: the one before it in time is the best guess


def _note_position(record: Record | Brief, positions: dict[str, str | None],
                   partial: frozenset[str]) -> None:
    """Note which checkpoint the tree stood on after this record was made. Earlier versions noted in a backup
    which checkpoint was restored next."""
    if record.kind != "backup":
        positions[record.place] = record.name
    elif record.version < FORMAT and record.name not in partial:
        positions[record.place] = record.restored or record.name


def lineage(state: State) -> Lineage:
    records = state.timeline.all()
    return Lineage(records, partial_backups(state, records))


def partial_backups(state: State, records: Sequence[Record | Brief]) -> frozenset[str]:
    """Needed only if there are records of an earlier version, which have no parent."""
    if all(record.version >= FORMAT for record in records):
        return frozenset()
    try:
        steps = [op for op in state.operations().all if op.paths]
    except RewindError:
        steps = []  # commands that need the log report that it is damaged
    return frozenset(op.before for op in steps)
