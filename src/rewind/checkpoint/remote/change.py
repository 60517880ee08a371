"""Adds a remote, or removes one together with what is only kept for it."""

from __future__ import annotations

from rewind.checkpoint.project.state import State
from rewind.checkpoint.remote.known import LOCK, Remote, Remotes
from rewind.checkpoint.remote.pull.fetch import forget
from rewind.checkpoint.remote.repository import Repository
from rewind.lock import Lock


def add_remote(state: State, name: str, url: str) -> Remote:
    with Lock(state.project.path(LOCK), "remote add"):
        return Remotes(state).add(name, url)


def remove_remote(state: State, name: str) -> Remote:
    """The remote repository and what was pulled stay. With the last remote, our own repository is deleted."""
    with Lock(state.project.path(LOCK), "remote remove"):
        remotes = Remotes(state)
        remote = remotes.remove(name)
        repository = Repository.of(state)
        if not remotes.all:
            repository.remove()
        elif repository.exists:
            forget(repository, remote)
        return remote
