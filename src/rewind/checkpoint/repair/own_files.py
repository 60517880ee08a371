"""Checks whether the small files of a state directory are as they were written."""

from __future__ import annotations

import os

from rewind.checkpoint.conversations.backup_sums import backup_was_changed
from rewind.checkpoint.operation_log.operations import FILE as OPERATIONS
from rewind.checkpoint.operation_log.operations import MAX_BYTES as MOST_OPERATIONS
from rewind.checkpoint.operation_log.operations import is_torn
from rewind.checkpoint.project.state import State
from rewind.checkpoint.project.vanished import vanished
from rewind.checkpoint.records.record import METADATA, is_name
from rewind.checkpoint.records.seal import is_broken
from rewind.checkpoint.repair.check_records import CHECKPOINT, STORE, Problem
from rewind.checkpoint.rewind.effects.kind import REWRITE
from rewind.errors import RewindError
from rewind.fast import quickjson
from rewind.files import read_bounded
from rewind.jsonfile import JsonObject
from rewind.paths import STORE_FILE

BRANCHES, PINS, GITIGNORE = "branches.json", "pins.json", ".gitignore"
GITIGNORE_TEXT = b"*\n"
_MOST = max(16 << 20, MOST_OPERATIONS)
# What is lost if a file is unusable.
MEANING = {OPERATIONS: "the operations that could be undone and redone",
           BRANCHES: "the names of forks, and which of them Rewind made",
           PINS: "which files are always captured; they are pinned again when the agent edits them"}
OWN_FILES = (STORE_FILE, OPERATIONS, BRANCHES, PINS)
UNREADABLE, CHANGED = "unreadable", "changed"  # what may be wrong with one of them
_TEXTS = {UNREADABLE: "is not readable", CHANGED: "is not as it was written: something in it changed"}


def check_own_files(state: State, *, deep: bool) -> list[Problem]:
    problems = []
    for name in OWN_FILES:
        problem = problem_of(state, name)
        if problem == CHANGED and not deep:
            continue  # only `--deep` compares checksums
        # An unreadable log is reported elsewhere, with a hint.
        if problem and not (name == OPERATIONS and problem == UNREADABLE):
            problems.append(Problem(STORE, f"{state.project.path(name)} {_TEXTS[problem]}."))
    lost = vanished(state)
    if lost:
        text = (f"Something other than Rewind removed checkpoints: {lost} is gone. The others still work;"
                " `rewind validate --deep --repair` accepts the loss.")
        problems.append(Problem(STORE, text))
    path = state.project.path(GITIGNORE)
    if content_of(path) != GITIGNORE_TEXT:
        problems.append(Problem(STORE, f"{path} is missing or changed, so git may see the state."))
    for name in without_record(state):
        text = f"{name} has lost its record, so it cannot be restored. The other checkpoints are fine."
        problems.append(Problem(CHECKPOINT, text, name))
    if deep:
        problems += [Problem(CHECKPOINT, f"The metadata of {name} {_TEXTS[CHANGED]}.", name)
                     for name in changed_records(state)]
        problems += [Problem(STORE, f"{path} {_TEXTS[CHANGED]}.") for path in changed_backups(state)]
    return problems


def problem_of(state: State, name: str) -> str:
    """What is wrong with one of the JSON files; empty if nothing is."""
    try:
        raw = read_bounded(state.project.path(name), _MOST)
    except FileNotFoundError:
        return ""
    except (OSError, RewindError):
        return UNREADABLE
    if name == OPERATIONS:
        return _problem_of_lines(raw)
    return _problem_of_object(raw)


def _problem_of_object(raw: bytes) -> str:
    data = object_in(raw)
    return UNREADABLE if data is None else CHANGED if is_broken(data) else ""


def object_in(raw: bytes) -> JsonObject | None:
    try:
        data = quickjson.loads(raw)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _problem_of_lines(raw: bytes) -> str:
    """A line that a killed process left unfinished is no problem."""
    lines = [line for line in raw.split(b"\n") if line.strip() and not is_torn(line)]
    problems = {_problem_of_object(line) for line in lines}
    return UNREADABLE if UNREADABLE in problems else CHANGED if CHANGED in problems else ""


def content_of(path: str) -> bytes:
    """Empty if the file is missing or cannot be read."""
    try:
        return read_bounded(path, _MOST)
    except (OSError, RewindError):
        return b""


def record_names(state: State) -> list[str]:
    try:
        return sorted(name for name in os.listdir(state.files.folder) if is_name(name))
    except FileNotFoundError:
        return []


def without_record(state: State) -> list[str]:
    """Checkpoints whose record is gone. A directory that a killed process only reserved is not one: the index
    and other records do not mention it."""
    gone = [name for name in record_names(state) if not os.path.lexists(state.files.path(name, METADATA))]
    if not gone:
        return []
    known = {name for (name,) in state.derived.query("SELECT name FROM records")}
    known |= {str(record.data.get("parent")) for record in state.timeline.all()}
    try:
        collected = state.objects.last_deleted()  # a collection that was killed leaves such directories
    except RewindError:
        collected = ""
    # `is_reserved` is asked last, because another process may be collecting the checkpoint right now.
    return [name for name in gone if name in known and name > collected and state.files.is_reserved(name)]


def changed_records(state: State) -> list[str]:
    """Records that are readable but not as they were written."""
    records = map(state.files.find, record_names(state))  # the timeline reports unreadable ones
    return [record.name for record in records if record and is_broken(record.data)]


def changed_backups(state: State) -> list[str]:
    """Backups of rewritten transcripts that have changed since they were made."""
    try:
        operations = state.operations().all
    except RewindError:
        return []
    rewritten = [effect for op in operations for effect in op.effects if effect.get("kind") == REWRITE]
    return [str(effect["backup"]) for effect in rewritten if backup_was_changed(effect)]
