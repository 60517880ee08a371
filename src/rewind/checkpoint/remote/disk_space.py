"""The disk space of the private repository: counted like the rest of the store, and packed by `rewind gc`."""

from __future__ import annotations

import os

from rewind.checkpoint.project.state import State
from rewind.checkpoint.remote.known import FOLDER
from rewind.errors import Locked, RewindError


def repository_bytes(state: State) -> int:
    """What is kept for pushing and pulling; most projects have none."""
    path = state.project.path(FOLDER)
    if not os.path.isdir(path):
        return 0
    from rewind.checkpoint.remote.repository import Repository

    return Repository(path).size_on_disk()


def collect_repository(state: State) -> int:
    """The bytes that git freed. Not while somebody pushes or pulls; the next time will do."""
    if not os.path.isdir(state.project.path(FOLDER)):
        return 0
    from rewind.checkpoint.remote.known import LOCK, Remotes
    from rewind.checkpoint.remote.repository import Repository
    from rewind.files import Lock

    repository = Repository(state.project.path(FOLDER))
    try:
        with Lock(state.project.path(LOCK), "gc", 0):
            before = repository.size_on_disk()
            repository.open(Remotes(state).all)
            repository.sweep()
            repository.collect()
            return max(0, before - repository.size_on_disk())
    except (Locked, RewindError, OSError):
        return 0  # without git, for one; `push` says what is wrong
