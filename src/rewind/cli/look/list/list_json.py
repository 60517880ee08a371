"""`rewind list --json`: the checkpoints always, and the turns that they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.cli.open_and_answer import Args
from rewind.controller import Controller, iso_time
from rewind.words import file_count, is_large_deletion

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.map.turn_map import MapRow
    from rewind.checkpoint.project.damage import MissingContent
    from rewind.checkpoint.records.record import Record, Trigger
    from rewind.jsonfile import JsonObject

    class Counts(TypedDict):
        added: int
        removed: int
        files: int
        counted: bool
        largeDeletion: bool

    class EditJson(TypedDict):
        before: str
        after: str
        createdAt: str
        place: str
        here: bool
        changes: Counts | None

    class TurnJson(TypedDict):
        number: int | None
        turn: int | None
        sessionId: str | None
        prompt: str
        createdAt: str
        before: str
        after: str | None
        ended: bool
        abandoned: bool
        place: str
        label: str | None
        here: bool
        checkpoints: list[str]
        changes: Counts | None

    class CheckpointJson(TypedDict):
        number: int
        name: str
        createdAt: str
        kind: str
        sequence: int
        parent: str | None
        place: str
        description: str
        trigger: Trigger
        hasTranscript: bool
        sessionId: str | None
        fileCount: int | None
        totalSize: int | None
        newBytes: int | None
        incomplete: str | None
        late: bool
        pinned: bool

    class ListJson(TypedDict):
        here: str | None
        checkpoints: list[CheckpointJson]
        turns: list[TurnJson]
        edits: list[EditJson]
        late: list[JsonObject]
        missed: JsonObject

_PATIENCE = 0.25


def list_json(controller: Controller, args: Args, paths: list[bytes] | None,
              rows: list[MapRow]) -> ListJson:
    records = controller.list_checkpoints(backups=args.all, session=args.session)
    records = controller.checkpoints_touching(records, paths) if paths else records
    rows = [row for row in rows if not row.op]
    controller.add_map_facts(rows, _PATIENCE)
    here, parents = controller.here(), controller.lineage().parents
    incomplete, missed = controller.incomplete(), controller.missed()
    return {"here": here.name if here else None,
            "checkpoints": [_checkpoint(r, incomplete.get(r.name), parents.get(r.name)) for r in records],
            "turns": [_turn(row) for row in rows if row.kind == "turn"],
            "edits": [_edit(row) for row in rows if row.kind == "edit"],
            "late": missed.late_json(), "missed": missed.json()}


def _checkpoint(record: Record, missing: MissingContent | None, parent: str | None) -> CheckpointJson:
    return {"number": record.sequence, "name": record.name, "createdAt": record.created_at,
            "kind": record.kind, "sequence": record.sequence, "parent": parent, "place": record.place,
            "description": record.description, "trigger": record.trigger,
            "hasTranscript": bool(record.data.get("hasTranscript")), "sessionId": record.session,
            "fileCount": record.code.get("fileCount"), "totalSize": record.code.get("totalSize"),
            "newBytes": record.code.get("newBytes"), "incomplete": missing.text if missing else None,
            "late": record.trigger.get("late") is True, "pinned": bool(record.data.get("pinned"))}


def _turn(row: MapRow) -> TurnJson:
    assert row.before
    return {"number": row.number, "turn": row.turn, "sessionId": row.session, "prompt": row.text,
            "createdAt": iso_time(row.time), "before": row.before.name,
            "after": row.after.name if row.after else None, "ended": row.ended, "abandoned": row.abandoned,
            "place": row.before.place, "label": row.label or None, "here": row.here,
            "checkpoints": [b.name for b in row.checkpoints], "changes": _changes(row)}


def _edit(row: MapRow) -> EditJson:
    assert row.before and row.after
    return {"before": row.before.name, "after": row.after.name, "createdAt": iso_time(row.time),
            "place": row.after.place, "here": row.here, "changes": _changes(row)}


def _changes(row: MapRow) -> Counts | None:
    """None where it is not known, or was not counted in time."""
    found = row.changes
    if found is None:
        return None
    return {"added": found["added"], "removed": found["removed"], "files": file_count(found),
            "counted": found["counted"], "largeDeletion": is_large_deletion(found)}
