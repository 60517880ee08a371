"""Rewriting a session's own file: a complete backup first, then the new content in one step."""

from __future__ import annotations

import os

from rewind.errors import RewindError
from rewind.files import PRIVATE_FILE, fsync_dir, make_private_dir
from rewind.transcript.copying import copy_range
from rewind.transcript.fork import plan_content, write_content, write_leaf
from rewind.transcript.lines import open_transcript, size_of
from rewind.transcript.liveness import SessionInUse
from rewind.transcript.names import session_id_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from rewind.agents.profile import Profile
    from rewind.transcript.cut import Cut

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


def back_up(path: str, target: str) -> None:
    """A copy of the transcript, durable when this returns, and never over another one."""
    make_private_dir(os.path.dirname(target))
    with open_transcript(path) as file:
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, PRIVATE_FILE)
        try:
            copy_range(file, 0, size_of(file), fd)
            os.fsync(fd)
        except BaseException:
            os.unlink(target)
            raise
        finally:
            os.close(fd)
    fsync_dir(os.path.dirname(target))


def rewrite(path: str, source: str, profile: Profile, cut: Cut) -> None:
    """Give `path` what a fork of `source` at this cut would hold."""
    with open_transcript(source) as file:
        content = plan_content(file, profile, cut)

        def fill(fd: int) -> None:
            write_content(fd, file, content.ranges)
            write_leaf(fd, profile, content.leaf, session_id_of(path))

        _replace(path, fill, expected=_stamp(file) if source == path else None)


def put_back(backup: str, path: str) -> None:
    """Give `path` the bytes of a backup."""
    with open_transcript(backup) as file:
        _replace(path, lambda fd: copy_range(file, 0, size_of(file), fd), expected=None)


def same_bytes(one: str, other: str) -> bool:
    try:
        with open_transcript(one) as first, open_transcript(other) as second:
            if size_of(first) != size_of(second):
                return False
            while True:
                chunk = first.read(1 << 20)
                if chunk != second.read(1 << 20):
                    return False
                if not chunk:
                    return True
    except RewindError:
        return False


def _stamp(file: BinaryIO) -> tuple[int, int, int]:
    info = os.fstat(file.fileno())
    return info.st_ino, info.st_size, info.st_mtime_ns


def _replace(path: str, fill: Callable[[int], None], *, expected: tuple[int, int, int] | None) -> None:
    folder = os.path.dirname(path)
    temp = os.path.join(folder, f".{session_id_of(path)}.rewind-tmp")
    if os.path.lexists(temp):
        os.unlink(temp)  # of a process that was killed; the project's lock says that nobody else is here
    fd = os.open(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, PRIVATE_FILE)
    try:
        try:
            fill(fd)
            os.fsync(fd)
        finally:
            os.close(fd)
        # Between the backup and this line somebody may have written: then the backup is not whole.
        if expected is not None:
            now = os.lstat(path)
            if (now.st_ino, now.st_size, now.st_mtime_ns) != expected:
                raise SessionInUse(reason="its transcript was written just now")
        os.replace(temp, path)
    except BaseException:
        if os.path.lexists(temp):
            os.unlink(temp)
        raise
    fsync_dir(folder)
