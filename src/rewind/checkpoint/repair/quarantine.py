"""`quarantine/`: damaged files that a repair replaces or removes. They are never deleted."""

from __future__ import annotations

import os
import time

from rewind.checkpoint.project.state import State
from rewind.files import fsync_dir, make_private_dir, write_atomic

FOLDER = "quarantine"


class Quarantine:
    """One directory for each repair, made when it is needed."""

    def __init__(self, state: State, *, dry_run: bool) -> None:
        self._state = state.project.state
        self._dry_run = dry_run
        self._folder = ""
        self.names: list[str] = []

    def _path(self, name: str) -> str:
        if not self._folder:
            stamp = time.strftime("%Y%m%d_%H%M%S", time.gmtime())
            for number in range(1000):
                self._folder = os.path.join(self._state, FOLDER, f"{stamp}_{number:03d}")
                if not os.path.lexists(self._folder):
                    break
        path = os.path.join(self._folder, name)
        make_private_dir(os.path.dirname(path))
        return path

    def put(self, name: str, data: bytes) -> None:
        """Keep bytes that are about to be deleted from the store."""
        self.names.append(name)
        if not self._dry_run:
            write_atomic(self._path(name), data)

    def keep_copy(self, path: str) -> None:
        """Give a file that is about to be replaced or removed a second name here."""
        name = os.path.relpath(path, self._state)
        self.names.append(name)
        if self._dry_run:
            return
        target = self._path(name)
        try:
            os.link(path, target, follow_symlinks=False)
        except OSError:  # a file system without hard links
            from shutil import copyfile

            copyfile(path, target, follow_symlinks=False)
        fsync_dir(os.path.dirname(target))

    def move(self, path: str) -> None:
        self.keep_copy(path)
        if not self._dry_run:
            os.unlink(path)
