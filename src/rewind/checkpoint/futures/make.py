"""A second future: a directory with the code of a turn, and a fork of the conversation that goes on there.

Where the project is a git repository the directory is a linked work tree on a detached HEAD. Either way it is
a place of the project: hooks in it make checkpoints in the same store, on a line of its own.
"""

from __future__ import annotations

import os
import shutil

from rewind.checkpoint.branches import Branches
from rewind.checkpoint.chat import Home, make_fork
from rewind.checkpoint.elsewhere import write_elsewhere
from rewind.checkpoint.futures.carry import carry
from rewind.checkpoint.futures.where import place_at, plain_place
from rewind.checkpoint.identity import enter_place
from rewind.checkpoint.known_stores import change
from rewind.checkpoint.rewind import operations as ops
from rewind.checkpoint.rewind.resolve import resolve
from rewind.errors import NothingBeforePrompt, RewindError
from rewind.snapshot.git_run import Git
from rewind.snapshot.gitfiles import work_tree_top
from rewind.transcript.find import folder_for
from rewind.transcript.fork import new_session_id
from rewind.transcript.kinds import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.checkpoint.record import Record
    from rewind.checkpoint.rewind.destination import Destination
    from rewind.checkpoint.rewind.target import Request
    from rewind.checkpoint.state import State
    from rewind.paths import Project
    from rewind.snapshot.build import Progress

_PROMPT = 200  # characters of a prompt that the log keeps


class Future:
    """What was made, or would be. `session` is None where there is nothing to resume: then a new session
    begins there."""

    def __init__(self, name: str, folder: str) -> None:
        self.name = name
        self.dir = folder
        self.place = ""
        self.checkpoint = ""
        self.exact = True
        self.commit: str | None = None  # of a linked work tree
        self.session: str | None = None
        self.resume = ""
        self.prompt = ""  # the first one that it does not have
        self.carried: list[str] = []
        self.missing: list[str] = []  # what the project has and no checkpoint holds
        self.leads_back: list[str] = []  # of these, what would run the code of the project
        self.notes: list[str] = []

    @property
    def is_git(self) -> bool:
        return self.commit is not None


def make_future(state: State, request: Request, name: str, folder: str, *, bring: str = "",
                dry_run: bool = False, progress: Progress | None = None) -> Future:
    """`bring` is "link" or "copy": what to do with directories that no checkpoint holds."""
    with state.locked(ops.FUTURE), resolve(state, request) as found:
        if found.record is None:
            raise NothingBeforePrompt()
        future = _planned(state, found, found.record, name, folder)
        if not dry_run:
            _make(state, found, found.record, future, bring, progress)
        else:
            carry(state, future, "", dry_run=True)
    return future


def _planned(state: State, found: Destination, record: Record, name: str, folder: str) -> Future:
    future = Future(name, folder)
    future.checkpoint, future.exact = record.name, found.exact
    future.commit = commit_for(state, record)
    future.prompt = found.prompts[0].text if found.prompts else ""
    future.notes = list(found.notes)
    return future


def commit_for(state: State, record: Record) -> str | None:
    """The commit that HEAD named when the checkpoint was made, or names now; None where a linked work tree
    cannot be had: without git, without a commit, or in a directory below the repository's top."""
    top = work_tree_top(state.root)
    if top is None or os.path.realpath(top) != os.path.realpath(state.root):
        return None
    git, head = Git(top), (record.data.get("git") or {}).get("head")
    for name in (head, "HEAD"):
        found = git.ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") if name else None
        if found:
            return found.decode().strip()
    return None


def _make(state: State, found: Destination, record: Record, future: Future, bring: str,
          progress: Progress | None) -> None:
    existed = os.path.isdir(future.dir)
    try:
        project = make_place(state, future.commit, future.dir)
        future.place = project.place
        write_elsewhere(state, record, future.dir, None, progress, beside=(".git",))
        carry(state, future, bring)
        enter_place(project)
        _begin_line(state, record, project, found)
        _add_conversation(state, found, future, project, record)
    except BaseException:
        _clean_up(state, future, existed)
        raise


def make_place(state: State, commit: str | None, folder: str, name: str = "") -> Project:
    """An empty directory that is a place of the project, a linked work tree of git where there is a `commit`;
    `name` is that of one that was there before."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    if commit is None:
        os.makedirs(folder, exist_ok=True)
        plain = plain_place(state, folder, name)
        _remember(state, plain)
        return plain
    Git(state.root).run("worktree", "add", "--quiet", "--detach", "--no-checkout", folder, commit)
    Git(os.fsencode(folder)).run("read-tree", commit)
    project = place_at(state, folder)
    if project is None:
        raise RewindError(f"{folder} did not become a work tree of {state.project.main}.")
    return project


def _remember(state: State, project: Project) -> None:
    """Without git nothing in the directory says whose place it is."""
    def put(entry: dict[str, Any]) -> None:
        places = entry.get("places")
        entry["places"] = {**(places if isinstance(places, dict) else {}), project.root: project.place}

    change(state.project.home, state.store_info["id"], put)


def forget_place(state: State, root: str) -> None:
    def put(entry: dict[str, Any]) -> None:
        places = entry.get("places")
        if isinstance(places, dict):
            entry["places"] = {path: name for path, name in places.items() if path != root}

    change(state.project.home, state.store_info["id"], put)


def _begin_line(state: State, record: Record, project: Project, found: Destination) -> None:
    """The place stands on the checkpoint that it was made from."""
    newest = state.timeline.newest()
    sequence = newest.sequence if newest else 0
    operations = state.operations(project.place)
    op = operations.begin(ops.FUTURE, before=record.name, checkpoint=record.name, origin=record.place,
                          point=record.sequence, sequence=sequence,
                          prompt=found.prompts[0].text[:_PROMPT] if found.prompts else None)
    operations.end(op, result=ops.DONE, here=record.name, sequence=sequence)


def _add_conversation(state: State, found: Destination, future: Future, project: Project,
                      record: Record) -> None:
    chat, home = found.chat, Home(project.root, project.place, record.name)
    if chat is None or found.start_anew:
        _begin_anew(state, found, future, home)
        return
    if not folder_for(chat.profile, project.root, chat.original):
        future.notes.append(f"{chat.profile.title} finds no session in a directory before it has begun one"
                            " there itself, so the conversation stays behind.")
        _begin_anew(state, found, future, home)
        return
    chat.home = home
    done = make_fork(state, chat, kind_of(chat.profile).new_session_id(), future.name)
    assert done.fork is not None
    future.session, future.resume = done.fork["session_id"], done.fork["resume"]
    future.notes += done.notes


def _begin_anew(state: State, found: Destination, future: Future, home: Home) -> None:
    """Nothing to resume: the first session that begins there is the fork's."""
    from shlex import quote

    profile = found.chat.profile if found.chat else None
    future.resume = f"cd {quote(future.dir)}" + (f" && {profile.commands['start']}" if profile else "")
    Branches(state).add({"sessionId": new_session_id(), "parentSessionId": None, "name": future.name,
                         "agent": profile.name if profile else "unknown", "path": "", "dir": home.root,
                         "place": home.place, "point": home.point})


def _clean_up(state: State, future: Future, existed: bool) -> None:
    """Half a directory is of no use: away with what was made of it."""
    if future.is_git:
        Git(state.root).ask("worktree", "remove", "--force", future.dir)
    elif future.place:
        forget_place(state, future.dir)
    if not existed:
        shutil.rmtree(future.dir, ignore_errors=True)
