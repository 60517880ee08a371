"""Decides where tests make their directories: in memory, if `scripts/run-pytest` could arrange that, or on a
disk.

A file system in memory never reuses the number of an inode, lists directories in another order, and has
nothing to write back. That does not change the answers of commands, but it may change how changed files are
recognized. So tests about files use a disk.
"""

from __future__ import annotations

import collections
import os
import shutil
from pathlib import Path
from typing import Optional

import other_pythons

# A directory on the disk. Empty if pytest's directories are not in memory.
DISK = os.environ.get("REWIND_TEST_DISK", "")
# Below `tests/`. Other Pythons use memory for all tests, because the file systems are the same for each
# Python.
ROOMS = ("fidelity", "snapshot", "store")
_KEPT = 30  # processes and threads of finished tests may still run, so the last directories are kept
_passed: collections.deque[Path] = collections.deque()


def disk_for(path: str) -> Optional[str]:
    """Where the tests of this file, relative to `tests/`, make their directories. None means pytest's
    place."""
    return DISK if DISK and not other_pythons.WHICH and path.split(os.sep)[0] in ROOMS else None


def passed(folder: Path) -> None:
    """The test of this directory has passed. Remove the directory some tests later, to free its memory."""
    if DISK:
        _passed.append(folder)
        if len(_passed) > _KEPT:
            shutil.rmtree(_passed.popleft(), ignore_errors=True)
