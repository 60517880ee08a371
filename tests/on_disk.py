"""Where tests make their directories: in memory, if `scripts/run-pytest` can have it so, or on the disk.

A file system in memory never uses the number of an inode again, lists a directory in another order, and has
nothing to write back. That makes no difference to what a command answers, but it may to what tells changed
files from others.
"""

from __future__ import annotations

import collections
import os
import shutil
from pathlib import Path
from typing import Optional

import other_pythons

# A directory on the disk; "": nothing is in memory.
DISK = os.environ.get("REWIND_TEST_DISK", "")
# Below `tests/`. The other Pythons have everything in memory: the file systems are the same for each Python.
ROOMS = ("fidelity", "snapshot", "store")
_KEPT = 30  # a process or a thread of a test that is over may still be at work
_over: collections.deque[Path] = collections.deque()


def disk_for(path: str) -> Optional[str]:
    """Where a test in this file, named from `tests/`, makes its directory; None: where pytest would."""
    return DISK if DISK and not other_pythons.WHICH and path.split(os.sep)[0] in ROOMS else None


def is_over(folder: Path) -> None:
    """The test to which this directory belongs has passed, so others may have the memory a little later."""
    if DISK:
        _over.append(folder)
        if len(_over) > _KEPT:
            shutil.rmtree(_over.popleft(), ignore_errors=True)
