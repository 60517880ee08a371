"""Reads a file of the project as it is on the disk now, to show it."""

from __future__ import annotations

import os
import stat

from rewind.snapshot.scan.folders import Folders

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_live(root: bytes, path: bytes, limit: int) -> bytes | None:
    """Up to `limit` bytes of a regular file. None if it is gone, or is no regular file any more."""
    folder, name = os.path.split(path)
    try:
        with Folders(root) as folders:
            fd = os.open(name, _FLAGS, dir_fd=folders.fd(folder))
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        return _read(fd, limit)
    except OSError:
        return None
    finally:
        os.close(fd)


def _read(fd: int, limit: int) -> bytes:
    parts = []
    while limit > 0:
        part = os.read(fd, min(limit, 1 << 20))
        if not part:
            break
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)
