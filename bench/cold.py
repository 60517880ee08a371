"""A cold cache: what a first command after a while, or after a restart of the machine, meets."""

from __future__ import annotations

import os
from pathlib import Path

SWITCH = "/proc/sys/vm/drop_caches"
EVERYTHING = "all caches of the system dropped before each run"
CONTENT_ONLY = "contents dropped with fadvise, names and inodes still cached (needs root for more)"


class CannotCool(Exception):
    """Nothing here lets go of cached files."""


def cool(*roots: Path) -> str:
    """Drops what is cached of the files under roots, or of everything; tells which."""
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
