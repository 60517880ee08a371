"""Writes a checkpoint's files into another directory, without changing the project."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.records.source import Source
from rewind.checkpoint.rewind.files.code_to_restore import incomplete_error
from rewind.checkpoint.rewind.files.file_plan import RestorePlan, RestorePlanner
from rewind.checkpoint.rewind.files.missing import leave_out_missing
from rewind.errors import PathNotFound, RewindError, StoreDamaged
from rewind.snapshot.apply.applier import Applier
from rewind.snapshot.trees.change import Change, Paths
from rewind.snapshot.trees.tree import EMPTY

if TYPE_CHECKING:
    from rewind.snapshot.scan.build import Progress


_STAGING = ".rewind-tmp-"  # and the id of the process


def _only_held_our_state(change: Change, source: Source, own: bytes) -> bool:
    """Whether it makes `own`, the project's directory that contains the state. It looks empty, because the
    state is not written elsewhere. Any other empty directory is the user's."""
    return (change.path == own and change.action == "mkdir"
            and change.target is not None and not source.tree(change.target.ref).entries)


def write_elsewhere(state: State, record: Record, target: str, paths: list[bytes] | None,
                    progress: Progress | None = None, left_out: list[bytes] | None = None,
                    beside: tuple[str, ...] = (), to_finish: bool = False) -> list[bytes]:
    """Returns the paths that were written; if some could not be written, the error names them. A checkpoint
    that is not complete is refused, unless `left_out` is given to collect what is missing. `beside` are names
    that may already exist in the directory. `to_finish`: a process was killed while it did this; what it
    wrote stays."""
    root = os.path.realpath(target) if to_finish else _empty_place(target, beside)
    with Source(state, record) as source:
        plan = _plan(state, source, paths, left_out)
        plan.changes = [c for c in plan.changes if c.action != "mkdir" or os.fsdecode(c.path) not in beside]
        if to_finish:
            _leave_what_is_there(root, plan)
        os.makedirs(root, exist_ok=True)
        # Staged inside the target, because it may be on another disk than the state.
        staging = os.path.join(root, f"{_STAGING}{os.getpid()}")
        applier = Applier(os.fsencode(root), source.blobs, staging, 0, progress)
        try:
            applier.prepare(plan.changes)
        except StoreDamaged as error:
            raise incomplete_error(state, record) or error
        done = applier.run(plan.changes)
    if done.failed:
        path, reason = done.failed[0]
        raise RewindError(f"{len(done.failed)} paths could not be written, {os.fsdecode(path)} first:"
                          f" {reason}.")
    return plan.written


def _leave_what_is_there(root: str, plan: RestorePlan) -> None:
    for name in os.listdir(root):
        if name.startswith(_STAGING) and name[len(_STAGING):].isdigit():
            shutil.rmtree(os.path.join(root, name), ignore_errors=True)
    plan.changes = [c for c in plan.changes if not os.path.lexists(os.path.join(os.fsencode(root), c.path))]


def plan_elsewhere(state: State, record: Record, target: str, paths: list[bytes] | None,
                   left_out: list[bytes] | None = None) -> list[bytes]:
    """What `write_elsewhere` would write. Nothing is changed."""
    _empty_place(target)
    with Source(state, record) as source:
        return _plan(state, source, paths, left_out).written


def _empty_place(target: str, beside: tuple[str, ...] = ()) -> str:
    root = os.path.realpath(target)
    if os.path.exists(root) and (not os.path.isdir(root) or set(os.listdir(root)).difference(beside)):
        raise RewindError(f"{target} is not an empty directory.",
                          hint="Name a directory that is empty or does not exist yet.")
    return root


def _plan(state: State, source: Source, paths: list[bytes] | None,
          left_out: list[bytes] | None) -> RestorePlan:
    record = source.record
    source.skip_missing = left_out is not None
    if record.code.get("lost") and left_out is None:
        raise incomplete_error(state, record) or AssertionError

    rules = state.rules()
    # Files of another place, which an earlier version captured, may be written elsewhere.
    planner = RestorePlanner(record.name, source.tree, lambda oid: EMPTY, lambda path, entry, ruled_as: False,
                             Paths(paths), hidden=rules.hidden - rules.places)
    plan = planner.plan_from(record.tree, b"")
    own = os.path.dirname(os.path.relpath(os.fsencode(state.project.state), state.root))
    plan.changes = [c for c in plan.changes if not _only_held_our_state(c, source, own)]
    if left_out is not None:
        leave_out_missing(source, plan)
        left_out += [kept.path for kept in plan.conflicts]
    if paths and not plan.changes:
        raise PathNotFound(checkpoint=record.name, path=os.fsdecode(paths[0]))
    return plan
