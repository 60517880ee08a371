"""Taking a future away, and bringing it back: its directory from its last checkpoint, its conversation from
the trash."""

from __future__ import annotations

import os
import shutil

from rewind.checkpoint.branches import Branches
from rewind.checkpoint.elsewhere import write_elsewhere
from rewind.checkpoint.forks import throw_away, undelete
from rewind.checkpoint.futures.compare import bring_up_to_date
from rewind.checkpoint.futures.known import AtPlace, look, session_of
from rewind.checkpoint.futures.make import commit_for, forget_place, make_place
from rewind.checkpoint.rewind import operations as ops
from rewind.checkpoint.rewind.lineage import here
from rewind.checkpoint.trash import trashed
from rewind.errors import FutureBusy, FutureLost, WorkNotSaved
from rewind.snapshot.git_run import Git
from rewind.snapshot.listing import uncovered
from rewind.snapshot.scan import scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.futures.known import Lane
    from rewind.checkpoint.state import State


def remove(state: State, lane: Lane, *, force: bool = False, dry_run: bool = False) -> None:
    look(state, lane)
    if lane.running:
        raise FutureBusy(name=lane.name, dir=lane.dir)
    if lane.exists and not force:
        lacking = unsaved_work(state, lane)
        if lacking:
            raise WorkNotSaved(name=lane.name, what=lacking)
    if dry_run:
        return
    if lane.exists:
        bring_up_to_date(state, lane, "remove")
    with AtPlace(state, lane) as there:
        tip, file = here(there), session_of(there, lane)
    with state.locked(ops.DELETE):
        Branches(state).change(lane.session_id, {"removed": tip.name if tip else True})
        if file:
            throw_away(state, file)
        _remove_directory(state, lane)


def _remove_directory(state: State, lane: Lane) -> None:
    if os.path.isfile(os.path.join(lane.dir, ".git")):
        if Git(state.root).ask("worktree", "remove", "--force", lane.dir) is None:
            shutil.rmtree(lane.dir)
            Git(state.root).ask("worktree", "prune")
    elif os.path.isdir(lane.dir):
        shutil.rmtree(lane.dir)
        forget_place(state, lane.dir)


def unsaved_work(state: State, lane: Lane) -> str:
    """What would be lost although a checkpoint is made first: files that none covers, and commits that no
    branch has. What was linked in, or what a command makes again, is no work."""
    with AtPlace(state, lane) as there:
        snapshot = scan(there.root, there.rules(), there.cache, there.objects, keep=False)
        found = [path for path, _ in uncovered(snapshot.root, snapshot.tree)
                 if not os.path.islink(os.path.join(there.root, path)) and os.path.isfile(
                     os.path.join(there.root, path))]
    if found:
        return f"{os.fsdecode(found[0])} is in no checkpoint"
    if os.path.isfile(os.path.join(lane.dir, ".git")):
        git = Git(os.fsencode(lane.dir))
        commits = git.ask("rev-list", "HEAD", "--not", "--branches", "--tags", "--remotes")
        if commits and commits.strip():
            return f"commit {commits.split()[0].decode()[:10]} is on no branch"
    return ""


def bring_back(state: State, lane: Lane) -> None:
    """The directory as its last checkpoint has it, where it was."""
    name = lane.branch.get("removed")
    if not isinstance(name, str):
        raise FutureLost(name=lane.name, what="no checkpoint of it was made")
    record = state.files.read(name)
    with state.locked(ops.UNDELETE):
        make_place(state, commit_for(state, record), lane.dir, lane.place)
        write_elsewhere(state, record, lane.dir, None, beside=(".git",))
        if any(one["sessionId"] == lane.session_id for one in trashed(state)):
            undelete(state, lane.session_id)
        Branches(state).change(lane.session_id, {"removed": None})
