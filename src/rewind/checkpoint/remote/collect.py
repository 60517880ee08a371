"""The private repository packed, as a part of `rewind gc`."""

from __future__ import annotations

import os

from rewind.checkpoint.project.state import State
from rewind.checkpoint.remote.known import LOCK, Remotes
from rewind.checkpoint.remote.repository import Repository
from rewind.checkpoint.upkeep.disk_use import REPOSITORY
from rewind.errors import Locked, RewindError
from rewind.lock import Lock


def collect_repository(state: State) -> int:
    """The bytes that git freed. Not while somebody pushes or pulls; the next time will do."""
    path = state.project.path(REPOSITORY)
    if not os.path.isdir(path):
        return 0
    repository = Repository(path)
    try:
        with Lock(state.project.path(LOCK), "gc", 0):
            before = repository.size_on_disk()
            repository.open(Remotes(state).all)
            repository.sweep()
            repository.collect()
            return max(0, before - repository.size_on_disk())
    except (Locked, RewindError, OSError):
        return 0  # without git, for one; `push` says what is wrong
