"""Adds to the rows of the map what changed and which turn of the conversation it is.

Both are cached in the derived database. What is missing there is computed within a time limit, and the code
for that is only loaded then."""

from __future__ import annotations

import os
import time

from rewind.checkpoint.records.record import prompt_start
from rewind.errors import RewindError
from rewind.fast import quickjson
from rewind.transcript.names import session_id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.checkpoint.changes.turn_changes import Changes
    from rewind.checkpoint.map.turn_map import MapRow
    from rewind.checkpoint.project.state import State

    Prompts = dict[str, list[tuple[int | None, int]]]  # the beginning of the text -> (turn, offset)

# The same as `turn_changes.NOTHING`, whose module loads twenty others that a list does not need.
_NOTHING: Changes = {"files": [], "added": 0, "removed": 0, "more": 0, "deleted": 0, "counted": True}
_AT_ONCE = 400  # values in one statement


def add_changes(state: State, rows: list[MapRow], patience: float) -> int:
    """Returns how many rows were not counted within `patience` seconds."""
    pairs = {_key(row): row for row in rows if row.before and row.after and row.before.tree != row.after.tree}
    known = _remembered(state, list(pairs))
    until = time.monotonic() + patience
    waiting = 0
    for row in rows:
        if not row.before or not row.after:
            continue
        if row.before.tree == row.after.tree:
            row.changes = _NOTHING.copy()
            continue
        row.changes = known.get(_key(row))
        if row.changes is None and time.monotonic() < until:
            row.changes = known[_key(row)] = _count(state, row)
        waiting += row.changes is None
    return waiting


def _key(row: MapRow) -> str:
    assert row.before and row.after
    return f"{row.before.tree} {row.after.tree}"


def _remembered(state: State, keys: list[str]) -> dict[str, Changes | None]:
    rows = _rows_of(state, "trees, summary FROM turn_changes WHERE trees", keys)
    try:
        # One call for all of them: with a thousand checkpoints this is much of `rewind list`.
        found = quickjson.loads("[" + ",".join([text for _, text in rows]) + "]")
    except ValueError:
        return {}  # one of them is damaged: all are computed again
    return {key: one for (key, _), one in zip(rows, found)} if len(found) == len(rows) else {}


def _rows_of(state: State, what: str, values: list[str]) -> list[Any]:
    rows: list[Any] = []
    for start in range(0, len(values), _AT_ONCE):
        some = tuple(values[start:start + _AT_ONCE])
        rows += state.derived.query(f"SELECT {what} IN ({','.join('?' * len(some))})", some)
    return rows


def _count(state: State, row: MapRow) -> Changes | None:
    from rewind.checkpoint.changes.turn_changes import changes_between

    assert row.before and row.after
    old, new = state.files.find(row.before.name), state.files.find(row.after.name)
    return changes_between(state, old, new) if old and new else None


def add_turns(state: State, rows: list[MapRow]) -> None:
    """The number of each turn in the present conversation. Turns that it left behind have none."""
    sessions: dict[str, list[MapRow]] = {}
    for row in rows:
        if row.kind == "turn" and row.session:
            sessions.setdefault(row.session, []).append(row)
    if not sessions:
        return
    known = {session_id_of(str(path)): (str(path), str(stamp))
             for path, stamp in state.derived.query("SELECT path, stamp FROM turn_files")}
    paths = {session: _read_to_the_end(state, *known.get(session) or (_transcript(state, turns), ""))
             for session, turns in sessions.items()}
    prompts = _prompts(state, [path for path in paths.values() if path])
    for session, turns in sessions.items():
        for row in turns:
            _place(row, prompts.get(paths[session], {}))


def _place(row: MapRow, prompts: Prompts) -> None:
    """Of the prompts with the same text, the nearest to where the transcript ended at the checkpoint."""
    assert row.before
    same, at = prompts.get(prompt_start(row.text)), row.before.cursor
    if not same:
        return
    row.turn, row.offset = same[0] if len(same) == 1 else min(same, key=lambda one: abs(one[1] - at))
    row.abandoned = row.turn is None


def _prompts(state: State, paths: list[str]) -> dict[str, Prompts]:
    """All prompts, by transcript."""
    found: dict[str, Prompts] = {}
    what = "path, turn, offset, prompt FROM turns WHERE path"
    for path, turn, offset, prompt in _rows_of(state, what, paths):
        found.setdefault(path, {}).setdefault(prompt_start(prompt), []).append((turn, offset))
    return found


def _read_to_the_end(state: State, path: str, stamp: str) -> str:
    """Makes sure that all turns of a transcript are cached. Returns its path; empty if it is gone."""
    try:
        info = os.stat(path) if path else None
    except OSError:
        info = None
    if info is None:
        return ""
    if not stamp.startswith(f"{info.st_size} {info.st_mtime_ns} {info.st_ino} "):
        _index(state, path)
    return path


def _index(state: State, path: str) -> None:
    from rewind.agents.registry import profile_for
    from rewind.transcript.turns.turn_index import open_turns

    try:
        open_turns(path, profile_for(path, None, state.project.home), state.derived)
    except (RewindError, OSError):
        pass  # deleted meanwhile, or not readable: then the turns have no numbers


def transcript_of(state: State, row: MapRow) -> str:
    for (path,) in state.derived.query("SELECT path FROM turn_files"):
        if session_id_of(str(path)) == row.session:
            return str(path)
    return _transcript(state, [row])


def _transcript(state: State, turns: list[MapRow]) -> str:
    """The path of the session's transcript, by its last checkpoint."""
    for row in turns:
        for brief in reversed(row.checkpoints):
            record = state.files.find(brief.name) if brief.has_conversation else None
            path = record.transcript.get("original_path") if record else None
            if isinstance(path, str):
                return path
    return ""
