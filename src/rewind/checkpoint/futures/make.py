"""`rewind fork`: makes a directory with the code of a turn, and a fork of the conversation that goes on
there.

If the project is a git repository, the directory is a linked work tree with a detached HEAD. In any case it
is a place of the project: hooks in it make checkpoints in the same store, on a line of its own.
"""

from __future__ import annotations

import os
import shutil
from shlex import quote
from typing import TYPE_CHECKING

from rewind.checkpoint.conversations.bring_back import ForkPlace, make_fork
from rewind.checkpoint.futures.known.directory import commit_for, make_place
from rewind.checkpoint.futures.known.half_made import Making, sweep
from rewind.checkpoint.operation_log import operations as ops
from rewind.checkpoint.project.identity import enter_place
from rewind.checkpoint.project.locked import locked
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.rewind.destination import Destination
from rewind.checkpoint.rewind.files.elsewhere import write_elsewhere
from rewind.checkpoint.rewind.resolve import resolve
from rewind.checkpoint.rewind.target import Request
from rewind.checkpoint.turns.bisect.scratch import leads_back, needed
from rewind.errors import NothingBeforePrompt
from rewind.paths import Project
from rewind.transcript.find import folder_for
from rewind.transcript.kinds import kind_of
from rewind.transcript.write.content import new_session_id
from rewind.transcript.write.copying import copy_range

if TYPE_CHECKING:
    from rewind.snapshot.scan.build import Progress

LINK = "link"  # else: copy
_PROMPT = 200  # characters of a prompt that the log keeps


class Future:
    """What was made, or would be. `session` is None if there is nothing to resume; a new session begins
    then."""

    def __init__(self, name: str, folder: str) -> None:
        self.name = name
        self.dir = folder
        self.place = ""
        self.checkpoint = ""
        self.exact = True
        self.commit: str | None = None  # of a linked work tree
        self.session: str | None = None
        self.resume = ""
        self.prompt = ""  # the first prompt that it does not have
        # Paths in the project that no checkpoint holds: linked or copied, left out, and left out because they
        # would run the code of the project.
        self.carried: list[str] = []
        self.missing: list[str] = []
        self.leads_back: list[str] = []
        self.notes: list[str] = []

    @property
    def is_git(self) -> bool:
        return self.commit is not None


def make_future(state: State, request: Request, name: str, folder: str, *, bring: str = "",
                dry_run: bool = False, progress: Progress | None = None) -> Future:
    """`bring` says what to do with paths that no checkpoint holds: "link", "copy", or nothing."""
    with locked(state, ops.FUTURE), resolve(state, request) as found:
        if found.record is None:
            raise NothingBeforePrompt()
        future = _planned(state, found, found.record, name, folder)
        if not dry_run:
            _make(state, found, found.record, future, bring, progress)
        else:
            _carry(state, future, "")
    return future


def _planned(state: State, found: Destination, record: Record, name: str, folder: str) -> Future:
    future = Future(name, folder)
    future.checkpoint, future.exact = record.name, found.exact
    future.commit = commit_for(state, record)
    future.prompt = found.prompts[0].text if found.prompts else ""
    future.notes = list(found.notes)
    return future


def _make(state: State, found: Destination, record: Record, future: Future, bring: str,
          progress: Progress | None) -> None:
    sweep(state)
    with Making(state, future.name, future.dir, record.name):
        project = make_place(state, future.commit, future.dir)
        future.place = project.place
        write_elsewhere(state, record, future.dir, None, progress, beside=(".git",))
        _carry(state, future, bring)
        enter_place(project)
        _begin_line(state, record, project, found)
        _add_conversation(state, found, future, project, record)


def _begin_line(state: State, record: Record, project: Project, found: Destination) -> None:
    """Log that the new place is at the checkpoint that it was made from."""
    sequence, operations = state.timeline.last_sequence(), state.operations(project.place)
    op = operations.begin(ops.FUTURE, before=record.name, checkpoint=record.name, origin=record.place,
                          point=record.sequence, sequence=sequence,
                          prompt=found.prompts[0].text[:_PROMPT] if found.prompts else None)
    operations.end(op, result=ops.DONE, here=record.name, sequence=sequence)


def _add_conversation(state: State, found: Destination, future: Future, project: Project,
                      record: Record) -> None:
    plan, fork_place = found.conversation, ForkPlace(project.root, project.place, record.name)
    if plan is None or found.start_anew:
        _begin_anew(state, found, future, fork_place)
        return
    if not folder_for(plan.profile, project.root, plan.original):
        future.notes.append(f"{plan.profile.title} only finds sessions in a directory where it has begun one"
                            " itself, so the fork has no conversation.")
        _begin_anew(state, found, future, fork_place)
        return
    plan.fork_place = fork_place
    done = make_fork(state, plan, kind_of(plan.profile).new_session_id(), future.name)
    assert done.fork is not None
    future.session, future.resume = done.fork["session_id"], done.fork["resume"]
    future.notes += done.notes


def _begin_anew(state: State, found: Destination, future: Future, fork_place: ForkPlace) -> None:
    """There is nothing to resume. The first session that begins there belongs to the fork."""
    profile = found.conversation.profile if found.conversation else None
    future.resume = f"cd {quote(future.dir)}" + (f" && {profile.commands['start']}" if profile else "")
    state.forks().add(
        {"sessionId": new_session_id(), "parentSessionId": None, "name": future.name,
         "agent": profile.name if profile else "unknown", "path": "",
         "dir": fork_place.root, "place": fork_place.place, "point": fork_place.point})


def _carry(state: State, future: Future, bring: str) -> None:
    """Link or copy paths that no checkpoint holds, such as installed packages. An environment whose packages
    lead back to the project is left out, because it would run the project's code instead of the fork's."""
    for path in needed(state):
        name = os.fsdecode(path)
        if leads_back(state, path):
            future.leads_back.append(name)
        elif bring and _bring(os.path.join(state.project.root, name), os.path.join(future.dir, name), bring):
            future.carried.append(name)
        else:
            future.missing.append(name)


def _bring(source: str, target: str, bring: str) -> bool:
    above = os.path.dirname(target)
    if os.path.lexists(target) or not os.path.isdir(above) or os.path.realpath(above) != above:
        return False
    if bring == LINK:
        os.symlink(source, target)
    elif os.path.isdir(source) and not os.path.islink(source):
        shutil.copytree(source, target, symlinks=True, copy_function=_copy)
    else:
        _copy(source, target)
    return True


def _copy(source: str, target: str) -> None:
    """Copied by the kernel, which shares the blocks if the file system can."""
    if os.path.islink(source) or not os.path.isfile(source):
        if os.path.islink(source):
            os.symlink(os.readlink(source), target)
        return
    with open(source, "rb") as read, open(target, "xb") as write:
        copy_range(read, 0, os.fstat(read.fileno()).st_size, write.fileno())
    shutil.copystat(source, target)
