"""Makes a new project from a remote: everything that was pushed, with the files of the newest checkpoint."""

from __future__ import annotations

import os
import re
import shutil
import tempfile

from rewind.checkpoint.project.init import check_root, init_project
from rewind.checkpoint.project.known_stores import forget_store
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.remote.known import Remote, Remotes
from rewind.checkpoint.remote.names import writer_of
from rewind.checkpoint.remote.pull.fetch import refs_there
from rewind.checkpoint.remote.pull.pull import Pulled, pull
from rewind.checkpoint.remote.repository import Progress, Repository
from rewind.checkpoint.remote.url import checked_url, shown_url
from rewind.checkpoint.rewind.files.elsewhere import write_elsewhere
from rewind.checkpoint.save.save import save
from rewind.errors import RemoteRefused, UsageError

ORIGIN = "origin"


class Cloned:
    def __init__(self, state: State, pulled: Pulled, record: Record | None) -> None:
        self.state = state
        self.pulled = pulled
        self.record = record  # whose files were written


def folder_for(url: str) -> str:
    """`https://host/team/project.git` becomes `project`."""
    name = re.split(r"[/:]", url.rstrip("/"))[-1]
    name = name[:-4] if name.endswith(".git") else name
    if not name or name.startswith((".", "-")):
        raise UsageError("The address does not contain a name for the directory.",
                         hint="Name it: rewind clone URL DIR")
    return name


def look_at_clone(url: str, folder: str, *, ask: bool = False) -> int:
    """How many stores have pushed there. An error if none has. Nothing is made yet."""
    _check_folder(folder)
    remote = Remote(ORIGIN, {"url": checked_url(url)})
    with tempfile.TemporaryDirectory(prefix="rewind-clone-") as temporary:
        repository = Repository(os.path.join(temporary, "look.git"), ask=ask)
        repository.open([remote], tracks=False)
        refs = refs_there(repository, remote)
    if not refs:
        raise RemoteRefused(remote=shown_url(remote.url), reason="nobody has pushed checkpoints to it.",
                            hint="Push from a project that has this remote first: rewind push")
    return len(set(map(writer_of, refs)))


def clone(url: str, folder: str, home: str, mode: str, *, ask: bool = False, max_mb: int | None = None,
          progress: Progress | None = None) -> Cloned:
    look_at_clone(url, folder, ask=ask)
    is_new = not os.path.isdir(folder)
    os.makedirs(folder, exist_ok=True)
    root = os.path.realpath(folder)
    check_root(root, home)
    state, _ = init_project(root, home, mode, trust=False)
    try:
        Remotes(state).add(ORIGIN, url)
        pulled = pull(state, ORIGIN, own_line=True, ask=ask, max_mb=max_mb, progress=progress)
        record = max(pulled.records, key=lambda r: (r.created_at, r.sequence), default=None)
        if record:
            write_elsewhere(state, record, root, None, beside=(".agent",))
            save(state, f"Cloned with the files of {record.name}", kind="initial", progress=progress)
    except BaseException:
        _remove_clone(state, root, is_new)
        raise
    return Cloned(state, pulled, record)


def _check_folder(folder: str) -> None:
    if os.path.lexists(folder) and not (os.path.isdir(folder) and not os.listdir(folder)):
        raise UsageError(f"{folder} already exists and is not an empty directory.",
                         hint="Name another one: rewind clone URL DIR")


def _remove_clone(state: State, root: str, is_new: bool) -> None:
    """Undo a failed clone. The directory was empty or did not exist, so everything in it is ours."""
    project, store_id = state.project, state.store_info["id"]
    state.close()
    shutil.rmtree(project.state, ignore_errors=True)
    shutil.rmtree(root, ignore_errors=True)
    if not is_new:
        os.makedirs(root, exist_ok=True)
    forget_store(project.home, store_id)
