"""What changed each path between two checkpoints: an editing tool, a shell command, or a person between
turns. `changes/authors.py` finds the turn; this module finds the tool that the turn used."""

from __future__ import annotations

import os

from rewind.agents.registry import profile_for
from rewind.checkpoint.changes.authors import Authors
from rewind.checkpoint.changes.turn_changes import is_directory
from rewind.checkpoint.map.facts import transcript_of
from rewind.checkpoint.map.turn_map import MapRow
from rewind.checkpoint.operation_log.lineage import Lineage, here, lineage
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.records.source import Source, between
from rewind.errors import RewindError
from rewind.transcript.turns.turn_tools import TurnTools, tools_of_turn

SHELL, YOU, OTHERS = "shell commands", "you", "others"


def who_changed(state: State, old: str, new: str) -> dict[bytes, list[str]]:
    """For each path that changed between two checkpoints of one line: names of tools, `SHELL`, `YOU`, or
    `OTHERS` if it is not known. Empty if the second checkpoint is not a descendant of the first."""
    found: dict[bytes, list[str]] = {}
    parents = lineage(state)
    authors = Authors(state, parents)
    for before, record in _steps(parents, old, new):
        for path in _changed(state, before, record):
            who = found.setdefault(path, [])
            who += [name for name in _names(authors, record, path, state.root) if name not in who]
    return found


def edited_since(state: State, name: str) -> set[bytes]:
    """Paths that a person changed between turns since a checkpoint on the project's line."""
    current, parents = here(state), lineage(state)
    authors = Authors(state, parents)
    return {path for before, record in (_steps(parents, name, current.name) if current else ())
            if authors.turn_of(record) is None for path in _changed(state, before, record)}


def _steps(parents: Lineage, old: str, new: str) -> list[tuple[Record, Record]]:
    """(parent, checkpoint) for each checkpoint between the two, oldest first."""
    line = list(parents.line(new))
    at = next((number for number, record in enumerate(line) if record.name == old), 0)
    return list(zip(line[1:at + 1], line[:at]))[::-1]


def _changed(state: State, old: Record, new: Record) -> list[bytes]:
    if old.tree == new.tree:
        return []
    try:
        with Source(state, old) as before, Source(state, new) as after:
            return [path for path, then, now in between(before, after) if not is_directory(then, now)]
    except RewindError:
        return []  # collected since, or damaged


def _names(authors: Authors, record: Record, path: bytes, root: bytes) -> list[str]:
    tools = authors.tools_of(record)
    if tools is None:
        return [YOU]
    full = os.fsdecode(os.path.join(root, path))
    named = tools.edited.get(os.path.realpath(full)) or tools.edited.get(full)
    return named or [SHELL if tools.commands else OTHERS]


def tools_of(state: State, row: MapRow) -> TurnTools:
    """What the turn of a row used; nothing if its transcript is gone."""
    try:
        path = transcript_of(state, row)
        if path and row.offset is not None:
            return tools_of_turn(path, profile_for(path, None, state.project.home), row.offset)
    except (RewindError, OSError):
        pass
    return TurnTools()
