"""Packs the private repository, as a part of `rewind gc`."""

from __future__ import annotations

import os

from rewind.checkpoint.project.state import State
from rewind.checkpoint.remote.known import LOCK, Remotes
from rewind.checkpoint.remote.repository import Repository
from rewind.errors import Locked, RewindError
from rewind.lock import Lock


def collect_repository(state: State) -> int:
    """Returns the bytes that git freed; 0 while somebody pushes or pulls."""
    repository = Repository.of(state)
    if not os.path.isdir(repository.path):
        return 0
    try:
        with Lock(state.project.path(LOCK), "gc", 0):
            before = repository.size_on_disk()
            repository.open(Remotes(state).all)
            repository.sweep()
            repository.collect()
            return max(0, before - repository.size_on_disk())
    except (Locked, RewindError, OSError):
        return 0  # for example without git; `push` says what is wrong
