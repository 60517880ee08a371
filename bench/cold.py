"""Empties the system's file cache, as it is for a first command after a restart of the machine."""

from __future__ import annotations

import os
from pathlib import Path

SWITCH = "/proc/sys/vm/drop_caches"
EVERYTHING = "all caches of the system dropped before each run"
CONTENT_ONLY = "contents dropped with fadvise, names and inodes still cached (needs root for more)"


class CannotCool(Exception):
    """The file cache cannot be emptied on this machine."""


def cool(*roots: Path) -> str:
    """Drop everything that is cached, or at least the contents of the files under `roots`. Returns which."""
    os.sync()
    if _drop_everything():
        return EVERYTHING
    if not hasattr(os, "posix_fadvise"):
        raise CannotCool(f"neither {SWITCH} nor posix_fadvise can be used here")
    for root in roots:
        _drop_contents(root)
    return CONTENT_ONLY


def _drop_everything() -> bool:
    try:
        with open(SWITCH, "w") as switch:
            switch.write("3\n")
    except OSError:
        return False
    return True


def _drop_contents(root: Path) -> None:
    for folder, _, names in os.walk(root):
        for name in names:
            try:
                descriptor = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            except OSError:
                continue
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)
