"""A checkpoint's files written into another directory, with the project left alone."""

from __future__ import annotations

import os

from rewind.checkpoint.plan import plan_restore
from rewind.checkpoint.source import Source
from rewind.errors import PathNotFound, RewindError
from rewind.snapshot.apply import Applier
from rewind.snapshot.change import Paths
from rewind.snapshot.tree import EMPTY, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.record import Record
    from rewind.checkpoint.state import State
    from rewind.snapshot.change import Change
    from rewind.snapshot.scan import Progress

_NOTHING = b""


def _only_held_our_state(change: Change, source: Source) -> bool:
    """An empty `.agent` is the place of our state, which stays at home."""
    return (os.path.basename(change.path) == b".agent" and change.action == "mkdir"
            and change.target is not None and not source.tree(change.target.ref).entries)


def write_elsewhere(state: State, record: Record, target: str, paths: list[bytes] | None,
                    progress: Progress | None = None) -> list[bytes]:
    """The paths that could not be written are in the error; what was written is returned."""
    root = os.path.realpath(target)
    if os.path.exists(root) and (not os.path.isdir(root) or os.listdir(root)):
        raise RewindError(f"{target} is not an empty directory.",
                          hint="Name a directory that is empty or does not exist yet.")
    os.makedirs(root, exist_ok=True)
    with Source(state, record) as source:
        def now(oid: bytes) -> Tree:
            return EMPTY

        plan = plan_restore(record.name, record.tree, source.tree, _NOTHING, now,
                            lambda path, entry: False, Paths(paths), state.rules().hidden)
        plan.changes = [c for c in plan.changes if not _only_held_our_state(c, source)]
        if paths and not plan.changes:
            raise PathNotFound(checkpoint=record.name, path=os.fsdecode(paths[0]))
        # Staged inside the target: it may be on another disk than our state.
        staging = os.path.join(root, f".rewind-tmp-{os.getpid()}")
        applier = Applier(os.fsencode(root), source.blobs, staging, 0, progress)
        applier.prepare(plan.changes)
        done = applier.run(plan.changes)
    if done.failed:
        path, reason = done.failed[0]
        raise RewindError(f"{len(done.failed)} paths could not be written, {os.fsdecode(path)} first:"
                          f" {reason}.")
    return plan.written
