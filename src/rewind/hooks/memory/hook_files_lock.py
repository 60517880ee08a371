"""Hooks of several sessions change the same small files: one after the other, and no hook waits for long."""

from __future__ import annotations

import os

from rewind.errors import Locked
from rewind.lock import Lock

NAME = "hooks.lock"


class HookFilesLock:
    """`with HookFilesLock(folder):` nobody else writes what is read here before we do.

    If the lock is not free in time, the hook goes on without it: losing a note is better than making an agent
    wait.
    """

    wait = 2.0  # seconds; it is held while a file is read and written, never for a checkpoint

    def __init__(self, folder: str) -> None:
        self._lock = Lock(os.path.join(folder, NAME), "hook", self.wait)

    def __enter__(self) -> None:
        try:
            self._lock.__enter__()
        except (OSError, Locked):
            pass

    def __exit__(self, *error: object) -> None:
        self._lock.close()
