"""Writing a checkpoint: first its content, which must be durable, then the record, then everything else."""

from __future__ import annotations

import os
import time

from rewind.checkpoint.operation_log.lineage import here
from rewind.checkpoint.project.vanished import note_vanished
from rewind.checkpoint.records.record import ARCHIVE, FORMAT, Record, iso_time_ms
from rewind.files import PRIVATE_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.conversations.stored import Captured
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Code, Fields, Outside, Trigger
    from rewind.checkpoint.save.capture import Draft
    from rewind.snapshot.trees.change import Trees
    from rewind.store.objects import ObjectStore


def write_record(state: State, draft: Draft, kind: str, description: str,
                 trigger: Trigger | None = None, captured: Captured | None = None,
                 outside: Outside | None = None) -> Record:
    """Make the draft a checkpoint, with the conversation if there is one, and with the files outside the
    project that were kept."""
    if draft.archive is None or outside:
        state.objects.commit()
        state.objects.make_durable(state.on_shared_disk)
    note_vanished(state)
    current = here(state)
    state.timeline.sweep()
    extra: Fields = {"trigger": trigger or {}, "parent": current.name if current else None, "git": draft.git,
                     "hasTranscript": captured is not None, "transcript": captured.data if captured else None}
    if outside:
        extra["outside"], extra["madeBy"] = outside["outside"], outside["madeBy"]
    record = new_record(state, kind, description, draft.code, extra)
    if draft.archive is not None:
        write_archive(state, record, draft.snapshot.tree, draft.archive)
    if captured:
        captured.write_beside(state, record.name)
    state.files.write(record)
    if draft.archive is None:
        draft.snapshot.remember(state.cache)
    if captured:
        captured.remember(state)
    state.timeline.add(record)
    return record


def new_record(state: State, kind: str, description: str, code: Code, extra: Fields) -> Record:
    """A record with a new name, which is not written yet."""
    now = time.time()
    newest = state.timeline.newest()
    return Record({
        "format": FORMAT, "name": state.files.reserve(now, state.objects.last_deleted()),
        "sequence": newest.sequence + 1 if newest else 1,
        "createdAt": iso_time_ms(now),
        "description": description, "kind": kind, "trigger": {},
        "parent": None, "place": state.place, "code": code,
        "hasTranscript": False, "transcript": None, **extra})


def write_archive(state: State, record: Record, trees: Trees, store: ObjectStore) -> None:
    from rewind.snapshot.archive.portable import write_snapshot

    path = state.files.path(record.name, ARCHIVE)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
    with os.fdopen(fd, "wb") as file:
        write_snapshot(file, record.data, record.tree, trees, store, store.get(record.rules))
        file.flush()
        os.fsync(file.fileno())
    record.data["code"]["newBytes"] = os.path.getsize(path)
