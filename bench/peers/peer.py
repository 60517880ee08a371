"""The shape of a contender: something that snapshots a project and brings it back."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from bench.spawn import Spawner
from bench.trees import allocated_bytes


class Missing(Exception):
    """A tool that cannot be had here; the text says why."""


class Peer:
    """A tool at work on one project, with a place of its own for what it stores."""

    def __init__(self, spawner: Spawner, project: Path, store: Path) -> None:
        self._spawner = spawner
        self._project = project
        self.store = store

    def version(self) -> str:
        raise NotImplementedError

    def first(self) -> object:
        """Everything from nothing to the first snapshot."""
        raise NotImplementedError

    def snapshot(self) -> object:
        raise NotImplementedError

    def mark(self) -> str:
        """A snapshot, and what `restore` knows it by. Not timed."""
        return str(self.snapshot())

    def restore(self, mark: str) -> object:
        raise NotImplementedError

    def rest(self, quiet: float) -> None:
        """Waits until nothing of it works in the background any more."""

    def stored(self) -> int:
        return allocated_bytes(self.store)

    def remove(self) -> None:
        """As if it had never been there, so that `first` can be measured again."""
        shutil.rmtree(self.store, ignore_errors=True)

    def _here(self) -> None:
        os.chdir(self._project)


def tool(name: str, package: str = "") -> str:
    found = shutil.which(name)
    if found is None:
        raise Missing(f"{name} is not installed (package {package or name})")
    return found
