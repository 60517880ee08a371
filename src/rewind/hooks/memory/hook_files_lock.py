"""Hooks of several sessions change the same small files: one after the other, and none waits for long."""

from __future__ import annotations

import os

from rewind.errors import Locked
from rewind.lock import Lock

NAME = "hooks.lock"


class HookFilesLock:
    """`with HookFilesLock(folder):` what is read here nobody else writes before we do.

    Where the lock cannot be had it goes on without: a lost note is nothing against an agent that waits.
    """

    wait = 2.0  # seconds; it is held for a file read and written, never for a checkpoint

    def __init__(self, folder: str) -> None:
        self._lock = Lock(os.path.join(folder, NAME), "hook", self.wait)

    def __enter__(self) -> None:
        try:
            self._lock.__enter__()
        except (OSError, Locked):
            pass

    def __exit__(self, *error: object) -> None:
        self._lock.close()
