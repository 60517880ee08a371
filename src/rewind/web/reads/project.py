"""The project, its operations and its checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind import __version__
from rewind.controller import Controller
from rewind.web.reads import shapes
from rewind.web.reads.patches import patch_of
from rewind.web.reads.paths import named_path, paths_in
from rewind.web.reads.query import Query

if TYPE_CHECKING:
    from rewind.checkpoint.operation_log.operations import Operation
    from rewind.web.reads import answer_types, parts

_MOST_OPERATIONS = 500
_MOST_CHECKPOINTS = 500
_AROUND = 10  # checkpoints that are shown after the one that was asked for
_PATIENCE = 1.5  # seconds for counting changes; the page asks again for the rest


def project(controller: Controller, query: Query | None = None) -> answer_types.Project:
    records, here = controller.list_checkpoints(backups=True), controller.here()
    missed = controller.missed()
    return {
        "root": controller.project.root, "name": shapes.project_name(controller.project.root),
        "version": __version__, "branchesMax": controller.setting("branches.max"),
        "storage": {"bytes": controller.disk_use(),
                    "maxBytes": int(controller.setting("storage.maxSizeMb") * (1 << 20)),
                    "checkpoints": len(records)},
        "here": here.name if here else None, "canUndo": _operation(controller, controller.to_undo()),
        "canRedo": _operation(controller, controller.to_redo()),
        "late": missed.late_json(), "missed": missed.json(),
        "interrupted": interrupted(controller), "turnRunning": controller.is_turn_running()}


def _operation(controller: Controller, op: Operation | None) -> parts.OperationName | None:
    return {"id": op.id, "at": op.at, "text": controller.describe(op)} if op else None


def interrupted(controller: Controller) -> answer_types.Interrupted | None:
    op = controller.interrupted()
    if not op:
        return None
    return {"operation": op.id, "checkpoint": op.checkpoint, "paths": shapes.listed(op.paths or []),
            "message": f"Some files are as in {op.checkpoint}, others are not yet. Undo it, or finish it."}


def operations(controller: Controller, query: Query) -> answer_types.Operations:
    """The log, newest first."""
    found = reversed(controller.operations())
    return {"operations": [{"id": op.id, "at": op.at, "command": op.command, "text": controller.describe(op),
                            "undone": op.undone or op.superseded, "canUndo": op.can_undo}
                           for op, _ in zip(found, range(_MOST_OPERATIONS))]}


def checkpoints(controller: Controller, query: Query) -> answer_types.Checkpoints:
    records = controller.list_checkpoints(backups=True)
    before = query.number("before", 0, low=0)
    count = query.number("count", 50, low=1, high=_MOST_CHECKPOINTS)
    found = [r for r in records if not before or r.sequence < before]
    upto = query.text("upto", 100)
    if upto:  # as many checkpoints as it takes to reach that one
        at = next((n for n, r in enumerate(found) if r.name == query.checkpoint_named(upto)), 0)
        count = max(count, at + _AROUND)
    wanted = query.choice("changes", ("no", "yes")) == "yes"
    changes = controller.row_changes(found[:count], _PATIENCE) if wanted else {}
    return {"total": len(records), "checkpoints": [
        {**shapes.checkpoint(r), **shapes.row_changes(changes, r)} for r in found[:count]]}


def diff(controller: Controller, query: Query) -> answer_types.Diff:
    path = query.text("path", 4096)
    name, to = query.checkpoint, query.checkpoint_or_now("to")
    paths = [named_path(path, lambda: paths_in(controller.diff(name, to)))] if path else None
    with controller.diff(name, to, paths=paths) as difference:
        text, binary = patch_of(difference, bool(path))
        limit = 5000
        return {"from": difference.old.name, "to": difference.new.name,
                "added": shapes.listed(difference.added, limit),
                "modified": shapes.listed(difference.modified, limit),
                "deleted": shapes.listed(difference.deleted, limit),
                "patch": text, "binary": shapes.listed(binary)}
