"""A file of the project as it is on the disk right now, for looking at it."""

from __future__ import annotations

import os
import stat

_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_live(root: bytes, path: bytes, limit: int) -> bytes | None:
    """Up to `limit` bytes of a regular file; None when it is gone, or is none any more.

    No symbolic link is followed on the way: the directory that was scanned a moment ago may have
    been replaced by a link to somewhere else.
    """
    try:
        fd = _open(root, path)
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


def _open(root: bytes, path: bytes) -> int:
    *folders, name = path.split(b"/")
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            below = os.open(folder, _DIR, dir_fd=at)
            os.close(at)
            at = below
        return os.open(name, _FILE, dir_fd=at)
    finally:
        os.close(at)


def _read(fd: int, limit: int) -> bytes:
    parts = []
    while limit > 0:
        part = os.read(fd, min(limit, 1 << 20))
        if not part:
            break
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)
