"""Which tests have their directories on a disk where `scripts/run-pytest` puts those of the others in memory.

A file system in memory never uses the number of an inode again, lists a directory in another order, and has
nothing to write back. That makes no difference to what a command answers, but it may to what tells changed
files from others.
"""

from __future__ import annotations

import os
from typing import Optional

import other_pythons

# A directory on the disk; "": everything is on the same file system anyway.
DISK = os.environ.get("REWIND_TEST_DISK", "")
# Below `tests/`. The other Pythons have everything in memory: the file systems are the same for each Python.
ROOMS = ("fidelity", "snapshot", "store")


def disk_for(path: str) -> Optional[str]:
    """Where a test in this file, named from `tests/`, makes its directory; None: where pytest would."""
    return DISK if DISK and not other_pythons.WHICH and path.split(os.sep)[0] in ROOMS else None
