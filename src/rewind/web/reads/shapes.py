"""The objects that the page gets as JSON: sessions, turns, plans, checkpoints. See `docs/web-api.md`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.controller import Controller, iso_time, seconds_between
from rewind.web.render.markdown import markdown
from rewind.web.render.tools import kind_of, tool_view
from rewind.words import explain

if TYPE_CHECKING:
    from rewind.checkpoint.changes.turn_changes import Changes
    from rewind.checkpoint.conversations.session_tree import SessionInfo
    from rewind.checkpoint.map.session_shape import TurnShape
    from rewind.checkpoint.map.turn_views import TurnView
    from rewind.checkpoint.records.record import Record
    from rewind.checkpoint.rewind.files.file_plan import RestorePlan
    from rewind.checkpoint.rewind.outcome import Outcome
    from rewind.checkpoint.select.code_at import CodeAt
    from rewind.transcript.turns.turn_blocks import TurnText
    from rewind.web.reads import parts

MOST_LISTED = 500


def path_text(path: bytes) -> str:
    """A name that is not UTF-8 gets escapes, by which `paths.py` finds the file again."""
    return path.decode("utf-8", "backslashreplace")


def listed(paths: list[bytes], limit: int = MOST_LISTED) -> list[str]:
    return [path_text(path) for path in paths[:limit]]


def session(controller: Controller, info: SessionInfo) -> parts.Session:
    file, known = info.file, info.known_fork or {}
    return {
        "sessionId": info.session_id, "agent": file.profile.name, "agentTitle": file.profile.title,
        "title": info.title, "name": known.get("name"), "parentSessionId": info.parent,
        "rewindFromTurn": info.rewind_from_turn, "rewindedAt": known.get("rewindedAt"),
        "madeByRewind": info.made_by_rewind, "archived": info.archived, "promoted": info.promoted,
        "codeRestored": bool(info.replaced_code), "turns": len(info.turns), "messageCount": info.messages,
        "created": (info.turns[0][1] or None) if info.turns else None, "modified": iso_time(file.modified),
        "running": info.running, "busy": info.busy, "bytes": file.size,
        "resume": _resume(controller, info)}


def _resume(controller: Controller, info: SessionInfo) -> str:
    try:
        return controller.resume_command(info)
    except OSError:
        return ""  # the session was deleted meanwhile


def turn(view: TurnView, rendered: bool = False) -> parts.Turn:
    text = view.text
    return {
        "turn": text.row.turn, "uuid": text.row.uuid, "timestamp": text.row.stamp, "prompt": text.prompt,
        "blocks": [brief(block) for block in text.blocks] if rendered else text.blocks,
        "truncated": _is_cut(text) if rendered else text.truncated, "compactedBefore": text.compacted_before,
        "checkpoint": code(view.code), "changes": view.changes, "canRewind": not view.reason,
        "reason": view.reason or None, "missingFiles": view.missing,
        "seconds": seconds_between(text.row.stamp, text.ended),
        "failures": sum(1 for block in text.blocks if block.get("isError"))}


def _is_cut(text: TurnText) -> bool:
    """Whether a text that is shown at once was shortened. The page asks for tools when they are opened."""
    said = [text.prompt, *(block["text"] for block in text.blocks if block["kind"] in ("text", "note"))]
    return text.truncated and (len(text.blocks) >= 2000 or any(len(one) in (500, 20_000) for one in said))


def brief(block: parts.Block) -> parts.ShownBlock:
    """A block as the page shows it before it is unfolded. Then the page asks for the whole `block`."""
    if block["kind"] == "text":
        return {"kind": "text", "html": markdown(block["text"])}
    if block["kind"] == "thinking":
        return {"kind": "thinking", "text": block["text"][:160], "size": len(block["text"])}
    if block["kind"] == "tool":
        size = len(block["input"]) + len(block["result"] or "")
        return {"kind": "tool", "id": block["id"], "name": block["name"], "summary": block["summary"],
                "isError": block["isError"], "about": kind_of(block["name"]),
                "done": block["result"] is not None, "size": size}
    return block


def whole_block(block: parts.Block) -> parts.Block:
    if block["kind"] in ("text", "thinking"):
        return {**block, "html": markdown(block["text"])}
    return {**block, **tool_view(block)} if block["kind"] == "tool" else block


def turn_figures(one: TurnShape) -> parts.TurnFigures:
    """A turn in figures. Numbers that are not known are null."""
    changes = one.changes
    files = None if changes is None else len(changes["files"]) + changes["more"]
    return {"turn": one.row.turn, "prompt": one.row.prompt[:120], "timestamp": one.row.stamp,
            "seconds": one.seconds, "failures": one.failures, "compactedBefore": one.compacted_before,
            "added": changes["added"] if changes else None,
            "removed": changes["removed"] if changes else None, "files": files,
            "from": one.before or None, "to": one.after or None, "edited": one.edited,
            "saved": [record.name for record in one.saved]}


def code(found: CodeAt | None) -> parts.CodeName | None:
    return {"name": found.record.name, "exact": found.exact} if found else None


def plan(found: RestorePlan | None) -> parts.PlannedPaths:
    """Lists with some of the paths, and the counts of all."""
    written, deleted = (found.written, found.deleted) if found else ([], [])
    kept, foreign = (found.kept, found.foreign) if found else ([], [])
    return {"written": listed(written), "writtenCount": len(written),
            "deleted": listed(deleted), "deletedCount": len(deleted),
            "kept": [with_reason(k.path, k.reason) for k in kept[:MOST_LISTED]], "keptCount": len(kept),
            "conflicts": [with_reason(k.path, k.reason) for k in kept if k.conflict][:MOST_LISTED],
            "changedSince": listed(foreign), "changedSinceCount": len(foreign)}


def with_reason(path: bytes, reason: str) -> parts.WithReason:
    """`text` is the reason in words, as the command line says it."""
    return {"path": path_text(path), "reason": reason, "text": explain(reason)}


def outcome(found: Outcome) -> parts.Outcome:
    return {"operation": found.operation or None, "checkpoint": found.record.name if found.record else None,
            "backup": found.backup.name if found.backup else None, **plan(found.plan),
            "remaining": [with_reason(path, reason) for path, reason in found.remaining[:MOST_LISTED]],
            "remainingCount": len(found.remaining), "canRedo": found.can_redo, "notes": found.notes}


def checkpoint(record: Record) -> parts.Checkpoint:
    code = record.code
    return {"name": record.name, "sequence": record.sequence, "createdAt": record.created_at,
            "kind": record.kind, "description": record.description, "trigger": record.trigger,
            "parent": record.parent, "place": record.place,
            "hasTranscript": bool(record.data.get("hasTranscript")), "sessionId": record.session,
            "fileCount": code.get("fileCount"), "totalSize": code.get("totalSize"),
            "newBytes": code.get("newBytes")}


def project_name(root: str) -> str:
    return os.path.basename(root.rstrip("/")) or root


def row_changes(changes: dict[str, Changes], record: Record) -> parts.RowChanges:
    """The changes since the checkpoint before it, if they are known."""
    found = changes.get(record.name)
    return {"changes": change_counts(found)} if found else {}


def change_counts(found: Changes) -> parts.ChangeCounts:
    """`counted` is false if not all lines were counted, so that there may be more."""
    return {"added": found["added"], "removed": found["removed"],
            "files": len(found["files"]) + found["more"], "counted": found["counted"]}
