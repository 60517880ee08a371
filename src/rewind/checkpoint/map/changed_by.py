"""Who changed what between two checkpoints: an editing tool, a shell command, or a person between turns."""

from __future__ import annotations

import os

from rewind.agents.registry import profile_for
from rewind.checkpoint.map.facts import add_turns, transcript_of
from rewind.checkpoint.map.turn_changes import is_directory
from rewind.checkpoint.map.turn_map import EDIT, TURN, rows_between
from rewind.checkpoint.records.source import Source
from rewind.errors import RewindError
from rewind.snapshot.trees.change import Paths, differences
from rewind.transcript.turns.turn_tools import TurnTools, tools_of_turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from rewind.checkpoint.map.turn_map import MapRow
    from rewind.checkpoint.project.state import State

SHELL, YOU, OTHERS = "shell commands", "you", "others"


def who_changed(state: State, old: str, new: str) -> dict[bytes, list[str]]:
    """For each path that changed on the way from one checkpoint to a later one of the same line: names of
    tools, `SHELL`, `YOU`, or `OTHERS` where nothing tells. Empty where the second did not come from the
    first."""
    found: dict[bytes, list[str]] = {}
    rows = rows_between(state, old, new)
    add_turns(state, rows)
    for row in rows:
        try:
            _add(found, row, _changed(state, row), tools_of(state, row) if row.kind == TURN else None,
                 state.root)
        except RewindError:
            continue  # collected since, or damaged
    return found


def _add(found: dict[bytes, list[str]], row: MapRow, paths: Iterable[bytes], tools: TurnTools | None,
         root: bytes) -> None:
    for path in paths:
        who = found.setdefault(path, [])
        for name in _authors(row, path, tools, root):
            if name not in who:
                who.append(name)


def _authors(row: MapRow, path: bytes, tools: TurnTools | None, root: bytes) -> list[str]:
    if row.kind == EDIT:
        return [OTHERS if row.by_others else YOU]
    if tools is None:
        return [YOU]  # a checkpoint by hand has what was changed before it
    full = os.path.realpath(os.fsdecode(os.path.join(root, path)))
    named = tools.edited.get(full) or tools.edited.get(os.fsdecode(os.path.join(root, path)))
    return named or [SHELL if tools.commands else OTHERS]


def tools_of(state: State, row: MapRow) -> TurnTools:
    """What the turn of a row used; nothing where its transcript is gone."""
    try:
        path = transcript_of(state, row)
        if path and row.offset is not None:
            return tools_of_turn(path, profile_for(path, None, state.project.home), row.offset)
    except (RewindError, OSError):
        pass
    return TurnTools()


def _changed(state: State, row: MapRow) -> list[bytes]:
    if not row.before or not row.after or row.before.tree == row.after.tree:
        return []
    old, new = state.files.read(row.before.name), state.files.read(row.after.name)
    with Source(state, old) as before, Source(state, new) as after:
        return [path for path, then, now in differences(old.tree, before.tree, new.tree, after.tree, Paths())
                if not is_directory(then, now)]


def edited_since(state: State, name: str) -> set[bytes]:
    """Paths that a person changed between turns since a checkpoint, on the line of the project."""
    from rewind.checkpoint.rewind.log.lineage import here

    current = here(state)
    found: set[bytes] = set()
    for row in rows_between(state, name, current.name) if current else ():
        if row.kind != TURN and not row.by_others:
            try:
                found.update(_changed(state, row))
            except RewindError:
                continue
    return found
