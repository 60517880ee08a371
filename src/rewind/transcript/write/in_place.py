"""Rewrites a session's own file: a complete backup first, then the new content in one step."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.errors import RewindError, SessionInUse
from rewind.files import PRIVATE_FILE, fsync_dir, make_durable_dir, make_private_dir, write_all
from rewind.transcript.names import session_id_of
from rewind.transcript.read.lines import open_transcript, read_at, size_of
from rewind.transcript.write.content import check_resumable, plan_content, write_content, write_leaf
from rewind.transcript.write.copying import copy_range
from rewind.transcript.write.fork import sweep, temp_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    Note = Callable[[], None]

    from rewind.agents.profile import Profile
    from rewind.transcript.place.cut import Cut



def copy_whole(path: str, target: str) -> None:
    """A copy of the transcript, durable when this returns. It never replaces another file."""
    with open_transcript(path) as file:
        _copy_all(file, target)


def rewrite(path: str, source: str, profile: Profile, cut: Cut, backup: str | None,
            note: Note, identity: tuple[int, int] | None = None) -> None:
    """Give `path` the content of a fork of `source` at this cut. Its own content goes to `backup`."""
    with open_transcript(source, identity) as file:
        cut = cut.placed(file)
        check_resumable(file, profile, cut)
        content = plan_content(file, profile, cut)

        def fill(fd: int) -> None:
            write_content(fd, file, content.ranges)
            write_leaf(fd, profile, content.leaf, session_id_of(path))

        exchange(path, fill, backup, note)


def put_back(kept: str, path: str, backup: str | None, note: Note) -> None:
    """Give `path` the bytes of an earlier backup, `kept`. Its own content goes to `backup`."""
    with open_transcript(kept) as file:
        exchange(path, lambda fd: copy_range(file, 0, size_of(file), fd), backup, note)


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


def exchange(path: str, fill: Callable[[int], None], backup: str | None, note: Note) -> None:
    """Replace a transcript. `note` is called right before the file is replaced. Until then nothing is
    changed, and a failure leaves nothing behind. `backup` is None if there is no file yet."""
    if backup is None:
        _replace(path, fill, note, None)
        return
    noted = False
    with open_transcript(path) as old:
        stamp = _copy_all(old, backup)

        def ready() -> None:
            nonlocal noted
            # If somebody wrote to it while the new content was made, the session is in use.
            if _stamp_of(os.lstat(path)) != stamp:
                raise SessionInUse(reason="its transcript was written just now")
            noted = True
            note()

        try:
            _replace(path, fill, ready, stamp[2])
        except BaseException:
            # Nothing was replaced, so the backup is not needed, unless the history names it already.
            if not noted and _stamp_of(os.lstat(path))[0] == stamp[0]:
                os.unlink(backup)
            raise
        _catch_up(old, backup, stamp[1])


def replace_keeping_time(path: str, fill: Callable[[int], None]) -> None:
    """Replace a transcript by one with the same conversation, without a backup, and with the same time."""
    stamp = _stamp_of(os.lstat(path))

    def ready() -> None:
        if _stamp_of(os.lstat(path)) != stamp:
            raise SessionInUse(reason="its transcript was written just now")

    _replace(path, fill, ready, stamp[2])


def _copy_all(file: BinaryIO, target: str) -> tuple[int, int, int]:
    """Copy all of it, durably. Returns what identifies the state that was copied."""
    make_durable_dir(os.path.dirname(target))
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, PRIVATE_FILE)
    try:
        try:
            info = os.fstat(file.fileno())
            copy_range(file, 0, info.st_size, fd)
            os.fsync(fd)
        finally:
            os.close(fd)
    except BaseException:
        os.unlink(target)
        raise
    fsync_dir(os.path.dirname(target))
    return _stamp_of(info)


def _catch_up(old: BinaryIO, backup: str, size: int) -> None:
    """Add what was appended in the last moment. It went to a file that has no name any more."""
    if size_of(old) > size:
        fd = os.open(backup, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
        try:
            write_all(fd, read_at(old, size, size_of(old) - size))
            os.fsync(fd)
        finally:
            os.close(fd)


def _stamp_of(info: os.stat_result) -> tuple[int, int, int]:
    return info.st_ino, info.st_size, info.st_mtime_ns


def _replace(path: str, fill: Callable[[int], None], ready: Note, mtime: int | None) -> None:
    """The file keeps the time `mtime`, because nothing new was said, and its age shows whether it is in
    use."""
    folder = os.path.dirname(path)
    make_private_dir(folder)
    sweep(folder)
    temp = temp_of(path)
    if os.path.lexists(temp):
        os.unlink(temp)  # a killed process left it; nobody else is here, because the project is locked
    fd = os.open(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, PRIVATE_FILE)
    try:
        try:
            fill(fd)
            if mtime is not None:
                os.utime(fd, ns=(mtime, mtime))
            os.fsync(fd)
        finally:
            os.close(fd)
        ready()
        os.replace(temp, path)
    except BaseException:
        if os.path.lexists(temp):
            os.unlink(temp)
        raise
    fsync_dir(folder)
