"""`rewind open`: a shared file becomes a new project in an empty directory, or is added to a project."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.checkpoint.project.init import check_root, init_project
from rewind.checkpoint.project.locked import locked
from rewind.checkpoint.project.state import State
from rewind.checkpoint.rewind.files.elsewhere import write_elsewhere
from rewind.checkpoint.share.taking.incoming import Checked, check
from rewind.checkpoint.share.taking.shared_file import SharedFile
from rewind.checkpoint.share.taking.take_over import Added, add, check_incoming
from rewind.errors import RewindError
from rewind.files import write_atomic
from rewind.index import MAIN
from rewind.paths import Project, find_project

if TYPE_CHECKING:
    from rewind.snapshot.scan.build import Progress

_OURS = (".agent",)  # what a new project has in it before its files are written
_OPENING = "opening"  # a file in the state directory, until all files of a new project are written


class Opened:
    """`is_new`: the directory was empty and is a project now. `written` counts its files."""

    def __init__(self, root: str, is_new: bool, what: str, checkpoints: int) -> None:
        self.root = root
        self.is_new = is_new
        self.what = what
        self.checkpoints = checkpoints
        self.conversations: list[tuple[str, str]] = []  # agent and session, as they were shared
        self.written = 0
        self.lane = ""
        self.added: Added | None = None  # None after a dry run


def open_file(path: str, folder: str, home: str, mode: str, *, max_bytes: int | None = None,
              dry_run: bool = False, progress: Progress | None = None) -> Opened:
    """Checks all of the file before anything is made or changed."""
    root = os.path.realpath(folder)
    with SharedFile(path, max_bytes) as shared:
        project = find_project(root, home) if os.path.isdir(root) else None
        to_finish = project is not None and os.path.exists(project.path(_OPENING))
        if project is None or to_finish or _is_unfilled(project):
            return _into_empty(shared, root, home, mode, dry_run, to_finish, progress)
        return _into_project(shared, project, dry_run)


def _opened(shared: SharedFile, checked: Checked, root: str, is_new: bool) -> Opened:
    shared.check_files(checked)
    opened = Opened(root, is_new, shared.what, len(checked.checkpoints))
    opened.conversations = [(one.agent, one.session) for one in checked.conversations]
    return opened


def _into_project(shared: SharedFile, project: Project, dry_run: bool) -> Opened:
    state = State(project)
    try:
        if dry_run:
            return _opened(shared, check_incoming(state, shared), project.root, False)
        with locked(state, "open"):
            checked = check_incoming(state, shared)
            opened = _opened(shared, checked, project.root, False)
            opened.lane = lane_name(checked)
            opened.added = add(state, shared, checked, lane=opened.lane)
        return opened
    finally:
        state.close()


def lane_name(checked: Checked) -> str:
    """The same name for every file about the same conversation."""
    source = checked.conversations[0].session if checked.conversations else checked.checkpoints[-1].id
    return f"shared-{source[:8]}"


def _into_empty(shared: SharedFile, root: str, home: str, mode: str, dry_run: bool, to_finish: bool,
                progress: Progress | None) -> Opened:
    if not to_finish:
        _check_empty(root, home)
    checked = check(shared)
    opened = _opened(shared, checked, root, True)
    if dry_run:
        return opened
    os.makedirs(root, exist_ok=True)
    state, _ = init_project(root, home, mode, False)
    try:
        with locked(state, "open"):
            # If this process is killed before the last file is written, the next `open` goes on from here.
            opening = state.project.path(_OPENING)
            write_atomic(opening, b"")
            newest = checked.checkpoints[-1].meta["lane"]  # its files are written, so the project is there
            opened.added = add(state, shared, checked, first=newest)
            assert opened.added.tip is not None
            opened.written = len(write_elsewhere(state, opened.added.tip, root, None, progress, beside=_OURS,
                                                 to_finish=to_finish))
            os.unlink(opening)
    finally:
        state.close()
    return opened


def _check_empty(root: str, home: str) -> None:
    if os.path.isdir(root):
        check_root(root, home)
        if set(os.listdir(root)).difference(_OURS):
            raise RewindError(f"{root} is neither empty nor a project of Rewind.",
                              hint="Name an empty directory: rewind open FILE DIR. To add it to this project:"
                                   " run `rewind init` first.")
    elif os.path.lexists(root):
        raise RewindError(f"{root} is not a directory.", hint="Name an empty directory, or a project.")


def _is_unfilled(project: Project) -> bool:
    """Whether an `open` that was killed made the project and added nothing to it."""
    if set(os.listdir(project.root)).difference(_OURS):
        return False
    state = State(project)
    try:
        return all(record.shared and record.place == MAIN for record in state.timeline.all())
    finally:
        state.close()
