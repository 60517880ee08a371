"""What a plan would do to one path, line by line. The result may be a checkpoint that is not made yet."""

from __future__ import annotations

from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.source import Source
from rewind.checkpoint.rewind.files.code import Wanted, planned, with_sources
from rewind.checkpoint.rewind.resolve import resolve
from rewind.checkpoint.rewind.target import Request
from rewind.snapshot.diff.compare import Comparison, compare
from rewind.snapshot.scan.live import read_live
from rewind.snapshot.trees.tree import TreeEntry

_SHOWN = ("write", "delete", "chmod")


def preview(state: State, request: Request, path: bytes) -> Comparison | None:
    """From the file as it is now to what would be there; None where the plan leaves it alone."""
    with resolve(state, request) as found:
        return _of_code(state, found.code, path) if found.code else None


def _of_code(state: State, wanted: Wanted, path: bytes) -> Comparison | None:
    def read_now(path: bytes, entry: TreeEntry, limit: int) -> bytes | None:
        return read_live(state.root, path, limit)

    def act(source: Source, look_back: Source | None) -> Comparison | None:
        plan, _ = planned(state, wanted, source, look_back)
        change = next((one for one in plan.changes if one.path == path and one.action in _SHOWN), None)
        return compare(path, change.before, change.target, read_now, source.read) if change else None

    return with_sources(state, wanted, act)
