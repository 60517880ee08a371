"""What happened in the project. A turn is one row, with the checkpoints before and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.controller import Controller, iso_time
from rewind.web.reads import shapes
from rewind.web.reads.query import Query

if TYPE_CHECKING:
    from rewind.checkpoint.map.turn_map import MapRow
    from rewind.web.reads import answer_types

_MOST = 500
_AROUND = 10  # rows after the one that was asked for
_PATIENCE = 1.5  # seconds for counting changes; the page asks again for the rest
_KINDS = ("all", "turn", "edit", "checkpoint", "operation")


def history(controller: Controller, query: Query) -> answer_types.History:
    """Newest first. `q` looks for words in prompts, descriptions and the names of changed files."""
    kind, words = query.choice("kind", _KINDS), query.text("q", 200).strip().casefold()
    rows = controller.turn_map()
    everything = len(rows)
    if kind != "all":
        rows = [row for row in rows if row.kind == kind]
    waiting = controller.add_map_facts(rows, _PATIENCE) if words else 0
    if words:
        rows = [row for row in rows if words in _text(controller, row).casefold() or _touches(row, words)]
    page = _page(rows, query)
    if not words:
        waiting = controller.add_map_facts(page, _PATIENCE)
    return {"total": len(rows), "everything": everything, "waiting": waiting,
            "rows": [_row(controller, row) for row in page]}


def _page(rows: list[MapRow], query: Query) -> list[MapRow]:
    count = query.number("count", 60, low=1, high=_MOST)
    after, upto = query.text("after", 200), query.text("upto", 100)
    start = next((n + 1 for n, row in enumerate(rows) if _key(row) == after), 0) if after else 0
    if upto:  # as many rows as it takes to reach that one
        at = next((n for n, row in enumerate(rows) if upto in _names(row)), 0)
        count = max(count, at - start + _AROUND)
    return rows[start:start + count]


def _key(row: MapRow) -> str:
    if row.op:
        return row.op.id
    at = row.after if row.kind == "edit" else row.record
    return f"{row.kind} {at.name if at else row.time}"


def _names(row: MapRow) -> list[str]:
    """The checkpoints of a row. One that begins a turn belongs to the turn, not to the edit before it."""
    return [brief.name for brief in row.checkpoints] or ([row.after.name] if row.after else [])


def _text(controller: Controller, row: MapRow) -> str:
    return controller.describe(row.op) if row.op else f"{row.text} {row.label}"


def _touches(row: MapRow, words: str) -> bool:
    return any(words in file["path"].casefold() for file in (row.changes or {}).get("files", ()))


def _row(controller: Controller, row: MapRow) -> answer_types.HistoryRow:
    op = row.op
    before, after = (op.before, op.checkpoint) if op else (
        row.before.name if row.before else "", row.after.name if row.after else "")
    found = row.changes
    return {"key": _key(row), "kind": row.kind, "text": _text(controller, row).strip(),
            "createdAt": iso_time(row.time), "before": before or None, "after": after or None,
            "checkpoints": _names(row), "sessionId": row.session, "turn": row.turn,
            "abandoned": row.abandoned, "ended": row.ended, "here": row.here, "label": row.label or None,
            "saved": row.record.kind if row.record else None, "undone": bool(op and op.undone),
            "changes": shapes.change_counts(found) if found else None}
