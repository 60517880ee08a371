"""Restoring an incomplete checkpoint: what is missing stays as it is now and is reported."""

from __future__ import annotations

from rewind.checkpoint.records.source import KeptPath, Source
from rewind.checkpoint.rewind.files.file_plan import RestorePlan
from rewind.errors import StoreDamaged
from rewind.snapshot.trees.change import Change
from rewind.snapshot.trees.content import pieces_of
from rewind.snapshot.trees.listing import every_path
from rewind.snapshot.trees.tree import DIR, MISSING, TreeEntry


def leave_out_missing(source: Source, plan: RestorePlan) -> None:
    """Remove from the plan what cannot be read from the store, with the changes that would make room for
    it."""
    lost = {change.path for change in plan.changes
            if change.action == "write" and not _is_there(change, source)}
    plan.leave_out(lost)
    kept_paths = {kept.path for kept in plan.kept}
    if source.lost_trees or source.record.code.get("lost"):
        lost |= {path for path, entry in [(b".", TreeEntry(DIR, 0, 0, source.record.tree)),
                                          *every_path(source.record.tree, source.tree)]
                 if entry.kind == DIR and source.tree(entry.ref).partial == MISSING}
    plan.kept += [KeptPath(path, MISSING.decode(), conflict=True) for path in sorted(lost - kept_paths)]


def _is_there(change: Change, source: Source) -> bool:
    assert change.target is not None
    try:
        for _ in pieces_of(change.target, source.blobs):
            pass
    except StoreDamaged:
        return False
    return True
