"""Repairs records and the other small files from a copy, or else moves them to the quarantine."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from rewind import jsonfile
from rewind.checkpoint.operation_log.operations import FILE as OPERATIONS
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import ARCHIVE, FORMAT, METADATA, Record, decode_record
from rewind.checkpoint.records.seal import SEAL, is_broken, sealed
from rewind.checkpoint.repair.own_files import (
    CHANGED,
    GITIGNORE,
    GITIGNORE_TEXT,
    MEANING,
    OWN_FILES,
    changed_records,
    content_of,
    object_in,
    problem_of,
    record_names,
    without_record,
)
from rewind.checkpoint.repair.quarantine import Quarantine
from rewind.checkpoint.share.export_import import look_at_import
from rewind.errors import FormatTooNew, RewindError
from rewind.fast import quickjson
from rewind.files import write_atomic
from rewind.jsonfile import JsonObject

Repairs = list[tuple[str, str]]  # what was repaired, and how
_FIELDS = ("format", "sequence", "createdAt", "description", "kind", "trigger", "parent", "place", "git",
           "code", "hasTranscript", "transcript", "imported")


def repair_own_files(state: State, quarantine: Quarantine, dry_run: bool) -> Repairs:
    done: Repairs = []
    for name in OWN_FILES:
        problem = problem_of(state, name)
        if problem:
            done.append((name, _repair_json(state, name, problem, quarantine, dry_run)))
    path = state.project.path(GITIGNORE)
    if content_of(path) != GITIGNORE_TEXT:
        done.append((GITIGNORE, "written anew"))
        if not dry_run:
            write_atomic(path, GITIGNORE_TEXT)
    return done


def _repair_json(state: State, name: str, problem: str, quarantine: Quarantine, dry_run: bool) -> str:
    path = state.project.path(name)
    if name == OPERATIONS:
        return _repair_log(path, quarantine, dry_run)
    raw = content_of(path)
    if problem == CHANGED:
        # It is readable, and there is no other copy, so its present content is kept.
        quarantine.keep_copy(path)
        if not dry_run:
            jsonfile.write(path, sealed(quickjson.loads(raw)))
        return "kept as it is, because there is no other copy"
    quarantine.move(path)
    return f"moved to quarantine/; lost: {MEANING.get(name, 'what it said')}"


def _repair_log(path: str, quarantine: Quarantine, dry_run: bool) -> str:
    """Keeps all readable lines. A changed line is kept as it is, because there is no other copy."""
    quarantine.keep_copy(path)
    lines = [line for line in content_of(path).split(b"\n") if line.strip()]
    readable = [data for data in map(object_in, lines) if data]
    if not dry_run:
        write_atomic(path, b"".join(quickjson.dumps(sealed(data)).encode() + b"\n" for data in readable))
    return f"kept the {len(readable):,} lines of {len(lines):,} that can be read"


# records

def repair_records(state: State, quarantine: Quarantine, dry_run: bool) -> tuple[Repairs, list[Record]]:
    """What was done, and the records afterwards."""
    done: Repairs = []
    records = {record.name: record for record in state.timeline.all()}
    changed = set(changed_records(state))
    for name in [*_unreadable(state), *sorted(changed), *without_record(state)]:
        record, how = _rescued(state, name)
        path = state.files.path(name, METADATA)
        if record is None and name in changed:
            record, how = state.files.read(name), "kept as it is, because there is no other copy"
        elif record is None:
            how = "moved to quarantine/: it cannot be read" if os.path.lexists(path) else (
                "missing, and there is no other copy")
        if os.path.lexists(path) and record:
            quarantine.keep_copy(path)
        elif os.path.lexists(path):
            quarantine.move(path)
        if record:
            records[name] = record
            if not dry_run:
                state.files.write(record)
        done.append((f"record of {name}", how))
    if done and not dry_run:
        state.forget_derived()
        state.close()
    return done, sorted(records.values(), key=lambda record: record.sequence)


def _unreadable(state: State) -> list[str]:
    found = []
    for name in record_names(state):
        if os.path.lexists(state.files.path(name, METADATA)):
            try:
                state.files.read(name)
            except FormatTooNew:
                continue  # a record of a newer Rewind is not damage
            except RewindError:
                found.append(name)
    return found


def _rescued(state: State, name: str) -> tuple[Record | None, str]:
    raw = content_of(state.files.path(name, METADATA))
    ways: list[tuple[str, Callable[[], bytes | None]]] = [
        ("from the index of records", lambda: _indexed(state, name)),
        ("from its archive", lambda: _in_archive(state, name))]
    for how, way in ways:
        text = way()
        record = _record(name, text, sealed_only=how != "from its archive") if text else None
        if record:
            return record, how
    return _pieced_together(state, name, raw), "pieced together; some of what it said may be lost"


def _record(name: str, raw: bytes, *, sealed_only: bool = True) -> Record | None:
    try:
        record = decode_record(name, raw)
    except RewindError:
        return None
    return None if is_broken(record.data) or (sealed_only and SEAL not in record.data) else record


def _indexed(state: State, name: str) -> bytes:
    rows = state.derived.query("SELECT summary FROM records WHERE name=?", (name,))
    return str(rows[0][0]).encode() if rows else b""


def _in_archive(state: State, name: str) -> bytes:
    """The record in the manifest of an archive."""
    path = state.files.path(name, ARCHIVE)
    try:
        found: Any = look_at_import(path, allow_links_out=True, max_bytes=1 << 50)
        data = dict(found.metadata)
        data["code"] = {**data["code"], "newBytes": os.path.getsize(path)}
        return quickjson.dumps(data).encode()
    except (RewindError, OSError, KeyError, TypeError):
        return b""


def _pieced_together(state: State, name: str, raw: bytes) -> Record | None:
    """A record has one member per line. If the readable ones include `code`, its files can be restored."""
    found = _members(raw)
    if not isinstance(found.get("code"), dict):
        return None
    others = [r for r in state.timeline.all() if r.name < name]
    before = max(others, key=lambda r: r.sequence) if others else None
    stamp = f"{name[:4]}-{name[4:6]}-{name[6:8]}T{name[9:11]}:{name[11:13]}:{name[13:15]}"
    guessed = {"format": FORMAT, "name": name, "sequence": before.sequence if before else 1,
               "createdAt": stamp + ".000Z", "description": "Recovered from a damaged record",
               "kind": "manual", "trigger": {}, "parent": before.name if before else None,
               "hasTranscript": isinstance(found.get("transcript"), dict), "transcript": None}
    data = {**guessed, **found, "name": name}
    return _record(name, quickjson.dumps({k: v for k, v in data.items() if k != SEAL}).encode(),
                   sealed_only=False)


def _members(raw: bytes) -> JsonObject:
    found: JsonObject = {}
    for line in raw.split(b"\n"):
        try:
            member = quickjson.loads(b"{" + line.rstrip(b", ") + b"}")
        except (ValueError, RecursionError):
            continue
        found.update({key: value for key, value in member.items() if key in _FIELDS})
    return found
