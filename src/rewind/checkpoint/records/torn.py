"""Databases of which a checkpoint has a torn copy, because they were written faster than they were copied."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record
    from rewind.snapshot.trees.change import Change

MOST_RECORDED = 100


def names_to_record(torn: list[bytes]) -> list[str]:
    """The member `torn` of a record's `code`."""
    return [os.fsdecode(path) for path in sorted(torn)[:MOST_RECORDED]]


def torn_paths(record: Record) -> list[bytes]:
    """Empty if the record, which may come from anywhere, has no valid list of names."""
    found = record.code.get("torn")
    return [os.fsencode(path) for path in found if isinstance(path, str)] if isinstance(found, list) else []


def saved_notes(record: Record) -> list[str]:
    return ["This database kept changing during the save, so its copy may be inconsistent."
            " Save again when it is idle: " + os.fsdecode(path) for path in torn_paths(record)]


def newest_whole(records: Iterable[Record], of: Record, path: bytes,
                 holds: Callable[[Record, bytes], bool]) -> Record | None:
    """The newest checkpoint before `of` with a whole copy; without one, the first one after it."""
    found = sorted((one for one in records if one.name != of.name and path not in torn_paths(one)),
                   key=lambda one: one.sequence)
    earlier = [one for one in reversed(found) if one.sequence < of.sequence]
    later = [one for one in found if one.sequence > of.sequence]
    return next((one for one in (*earlier, *later) if holds(one, path)), None)


def restore_notes(state: State, record: Record, changes: Iterable[Change]) -> list[str]:
    """What to tell a person before torn copies are restored."""
    torn = set(torn_paths(record))
    if not torn:
        return []
    return [_note(record, change.path, newest_whole(state.timeline.all(), record, change.path, _holds(state)))
            for change in changes if change.path in torn and change.action == "write"]


def _note(record: Record, path: bytes, whole: Record | None) -> str:
    name = os.fsdecode(path)
    said = f"{name} kept changing while {record.name} was saved, so this copy may be inconsistent."
    if whole is None:
        return f"{said} No checkpoint has a consistent copy of it."
    return f"{said} For the nearest consistent copy, run afterwards: rewind restore {whole.name} -- {name}"


def _holds(state: State) -> Callable[[Record, bytes], bool]:
    from rewind.checkpoint.records.source import Source  # not for a save
    from rewind.errors import RewindError
    from rewind.snapshot.trees.listing import entry_at
    from rewind.snapshot.trees.tree import FILES

    def holds(record: Record, path: bytes) -> bool:
        try:
            with Source(state, record) as source:
                entry = entry_at(source.tree, record.tree, path)
        except RewindError:
            return False  # damaged, so it is not offered
        return entry is not None and entry.kind in FILES

    return holds
