"""Removes a future, or brings it back: its directory from its last checkpoint, its conversation from the
trash. Each is one operation, which `undo-restore` can undo."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.checkpoint.conversations.trash import check_free, move_to_trash, trashed
from rewind.checkpoint.futures.compare import bring_up_to_date
from rewind.checkpoint.futures.known.directory import is_file
from rewind.checkpoint.futures.known.half_made import remove_half_made, sweep
from rewind.checkpoint.futures.known.lane import Lane, OpenPlace, interrupted, read_progress, session_of
from rewind.checkpoint.operation_log import operations as ops
from rewind.checkpoint.operation_log.lineage import here
from rewind.checkpoint.operation_log.operations import Operation
from rewind.checkpoint.project.locked import locked
from rewind.checkpoint.project.state import State
from rewind.checkpoint.rewind.conversation.forks import logged_operation, trash_effect
from rewind.checkpoint.rewind.effects import effects
from rewind.checkpoint.rewind.effects.directory import finish, inverse_effect, move_away, removal_effect
from rewind.checkpoint.rewind.effects.kind import TRASH, UNTRASH, EffectsResult
from rewind.errors import FutureBusy, FutureLost, WorkNotSaved
from rewind.snapshot.git.run import Git
from rewind.snapshot.trees.listing import uncovered

if TYPE_CHECKING:
    from rewind.checkpoint.operation_log.line import Effect


def remove(state: State, lane: Lane, *, force: bool = False, dry_run: bool = False) -> None:
    if lane.half_made or lane.half_removed:
        _finish_or_clear(state, lane, force, dry_run)
        return
    read_progress(state, lane)
    if lane.running:
        raise FutureBusy(name=lane.name, dir=lane.dir)
    if lane.exists and not force:
        unsaved = unsaved_work(state, lane)
        if unsaved:
            raise WorkNotSaved(name=lane.name, what=unsaved)
    if dry_run:
        return
    if lane.exists:
        bring_up_to_date(state, lane, "remove")
    with locked(state, ops.DELETE):
        begun = interrupted(state, ops.DELETE, lane.session_id)
        _remove(state, lane, _effects_of_removal(state, lane), begun)


def _effects_of_removal(state: State, lane: Lane) -> list[Effect]:
    with OpenPlace(state, lane) as there:
        tip, file = here(there), session_of(there, lane)
    return [*([trash_effect(state, file)] if file else []), removal_effect(lane, tip.name if tip else "")]


def _remove(state: State, lane: Lane, wanted: list[Effect], begun: Operation | None) -> None:
    with logged_operation(state, ops.DELETE, *wanted, resumes=begun.id if begun else None):
        for effect in wanted:
            if effect["kind"] != TRASH:
                move_away(state, effect)
            elif os.path.lexists(str(effect["path"])):  # else a process that was killed has done it
                move_to_trash(state, effect)
    finish(state, lane.session_id)


def _finish_or_clear(state: State, lane: Lane, force: bool, dry_run: bool) -> None:
    """Finish what a process that was killed left, or clear it away."""
    if dry_run:
        return
    with locked(state, ops.DELETE):
        sweep(state)
        begun = interrupted(state, ops.DELETE, lane.session_id)
        if lane.half_made:
            remove_half_made(state, lane.half_made, force=force)
        elif begun:
            _remove(state, lane, begun.effects, begun)
        else:
            finish(state, lane.session_id)


def unsaved_work(state: State, lane: Lane) -> str:
    """What would be lost even though a checkpoint is made first: a file that no checkpoint covers, or a
    commit on no branch. Linked paths and what can be made again do not count."""
    with OpenPlace(state, lane) as there:
        snapshot = there.look()
        found = [path for path, _ in uncovered(snapshot.root, snapshot.tree) if is_file(there.root, path)]
    if found:
        return f"{os.fsdecode(found[0])} is in no checkpoint"
    if os.path.isfile(os.path.join(lane.dir, ".git")):
        git = Git(os.fsencode(lane.dir))
        commits = git.ask("rev-list", "HEAD", "--not", "--branches", "--tags", "--remotes")
        if commits and commits.strip():
            return f"commit {commits.split()[0].decode()[:10]} is on no branch"
    return ""


def bring_back(state: State, lane: Lane) -> None:
    """Write the directory of its last checkpoint to where it was."""
    with locked(state, ops.UNDELETE):
        begun = interrupted(state, ops.UNDELETE, lane.session_id)
        wanted = begun.effects if begun else _effects_of_return(state, lane)
        with logged_operation(state, ops.UNDELETE, *wanted, resumes=begun.id if begun else None):
            _bring_back(state, lane, wanted)


def _effects_of_return(state: State, lane: Lane) -> list[Effect]:
    name = lane.known_fork.get("removed")
    directory = inverse_effect(removal_effect(lane, name)) if isinstance(name, str) else None
    if directory is None:
        raise FutureLost(name=lane.name, what="it has no checkpoint")
    kept = next((one for one in trashed(state) if one["sessionId"] == lane.session_id), None)
    wanted: list[Effect] = [directory]
    if kept:
        check_free(state, kept)
        wanted.append({"kind": UNTRASH, **kept})
    return wanted


def _bring_back(state: State, lane: Lane, wanted: list[Effect]) -> None:
    result = EffectsResult()
    effects.do(state, wanted, result)
    if result.lacking:
        raise FutureLost(name=lane.name, what=f"{lane.dir} is not empty, or its conversation is gone")
