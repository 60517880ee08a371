"""The shape of a contender: a tool that makes snapshots of a project and restores them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from bench.spawn import Spawner
from bench.trees import allocated_bytes


class Missing(Exception):
    """A tool that is not available here. The text says why."""


class Peer:
    """A tool at work on one project. What it stores is in `store`."""

    def __init__(self, spawner: Spawner, project: Path, store: Path) -> None:
        self._spawner = spawner
        self._project = project
        self.store = store

    def version(self) -> str:
        raise NotImplementedError

    def first(self) -> object:
        """Set the tool up and make the first snapshot."""
        raise NotImplementedError

    def snapshot(self) -> object:
        raise NotImplementedError

    def mark(self) -> str:
        """Make a snapshot and return its name for `restore`. Not timed."""
        return str(self.snapshot())

    def restore(self, mark: str) -> object:
        raise NotImplementedError

    def wait_until_idle(self, quiet: float) -> None:
        """Wait until the tool does nothing more in the background."""

    def stored(self) -> int:
        return allocated_bytes(self.store)

    def remove(self) -> None:
        """Remove everything it stored, so that `first` can be measured again."""
        shutil.rmtree(self.store, ignore_errors=True)

    def _here(self) -> None:
        os.chdir(self._project)


def tool(name: str, package: str = "") -> str:
    found = shutil.which(name)
    if found is None:
        raise Missing(f"{name} is not installed (package {package or name})")
    return found
