"""What the rows of the map are asked for besides: what changed, and which turn of the conversation it is.

Both are remembered in the derived database. What is not known is found out while there is patience; the code
for that is loaded only then."""

from __future__ import annotations

import os
import time

from rewind import quickjson
from rewind.errors import RewindError
from rewind.transcript.names import session_id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.checkpoint.state import State
    from rewind.checkpoint.turn_map import MapRow

_NOTHING = {"files": [], "added": 0, "removed": 0, "more": 0, "deleted": 0, "counted": True}
_AT_ONCE = 400  # values that one statement may have
_SAME = 100  # so many characters tell two prompts apart


def add_changes(state: State, rows: list[MapRow], patience: float) -> int:
    """How many rows are still to be counted, because it would take longer than `patience` seconds."""
    pairs = {_key(row): row for row in rows if row.before and row.after and row.before.tree != row.after.tree}
    known = _remembered(state, list(pairs))
    until = time.monotonic() + patience
    waiting = 0
    for row in rows:
        if not row.before or not row.after:
            continue
        if row.before.tree == row.after.tree:
            row.changes = dict(_NOTHING)
            continue
        row.changes = known.get(_key(row))
        if row.changes is None and time.monotonic() < until:
            row.changes = known[_key(row)] = _count(state, row)
        waiting += row.changes is None
    return waiting


def _key(row: MapRow) -> str:
    assert row.before and row.after
    return f"{row.before.tree} {row.after.tree}"


def _remembered(state: State, keys: list[str]) -> dict[str, Any]:
    found = {}
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start:start + _AT_ONCE]
        marks = ",".join("?" * len(some))
        for key, text in state.derived.query(
                f"SELECT trees, summary FROM turn_changes WHERE trees IN ({marks})", tuple(some)):
            try:
                found[key] = quickjson.loads(text)
            except ValueError:
                continue  # then it is found out again
    return found


def _count(state: State, row: MapRow) -> dict[str, Any] | None:
    from rewind.checkpoint.turn_changes import changes_between

    assert row.before and row.after
    try:
        old, new = state.files.read(row.before.name), state.files.read(row.after.name)
    except RewindError:
        return None
    return changes_between(state, old, new)


def add_turns(state: State, rows: list[MapRow]) -> None:
    """The number of each turn in its conversation as it is now; those that it left behind have none."""
    sessions: dict[str, list[MapRow]] = {}
    for row in rows:
        if row.kind == "turn" and row.session:
            sessions.setdefault(row.session, []).append(row)
    if not sessions:
        return
    paths = {session_id_of(str(path)): str(path)
             for (path,) in state.derived.query("SELECT path FROM turn_files")}
    for session, turns in sessions.items():
        prompts = _prompts(state, paths.get(session) or _transcript(state, turns))
        for row in turns if prompts else ():
            _place(row, prompts)


def _place(row: MapRow, prompts: list[tuple[int | None, int, str]]) -> None:
    """The prompt that says the same, nearest to where the transcript ended when it was given."""
    assert row.before
    text, at = _short(row.text), row.before.cursor
    same = [one for one in prompts if _short(one[2]) == text]
    if not same:
        return
    row.turn, row.offset, _ = min(same, key=lambda one: abs(one[1] - at))
    row.abandoned = row.turn is None


def _short(text: str) -> str:
    return " ".join(text.split())[:_SAME]


def _prompts(state: State, path: str) -> list[tuple[int | None, int, str]]:
    """(turn, offset, text) of every prompt of a session."""
    if not path:
        return []
    try:
        info = os.stat(path)
    except OSError:
        return []
    stamps = state.derived.query("SELECT stamp FROM turn_files WHERE path=?", (path,))
    if not stamps or not str(stamps[0][0]).startswith(f"{info.st_size} {info.st_mtime_ns} {info.st_ino} "):
        _index(state, path)
    return state.derived.query("SELECT turn, offset, prompt FROM turns WHERE path=?", (path,))


def _index(state: State, path: str) -> None:
    from rewind.agents.registry import profile_for
    from rewind.transcript.turn_index import open_turns

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
    """Where the session's transcript is, by its last record."""
    for row in turns:
        for brief in reversed(row.checkpoints):
            if not brief.chat:
                continue
            try:
                told = state.files.read(brief.name).data.get("transcript")
            except RewindError:
                continue
            path = told.get("original_path") if isinstance(told, dict) else None
            if isinstance(path, str):
                return path
    return ""
