"""Copies part of a file into another one. The kernel does it if it can, so that a gigabyte need not pass
through Python."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from rewind.files import write_all

if TYPE_CHECKING:
    from rewind.transcript.read.joined import Piece

_CANNOT = (errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM, errno.ETXTBSY)
_STEP = 1 << 30


def copy_range(source: BinaryIO, start: int, end: int, target: int) -> None:
    """Append `[start, end)` of the source to the file descriptor `target`."""
    if hasattr(source, "parts"):
        _copy_parts(source.parts(start, end), target)
        return
    at = start
    in_kernel = hasattr(os, "copy_file_range")
    while at < end:
        if in_kernel:
            try:
                done = os.copy_file_range(source.fileno(), target, min(_STEP, end - at), offset_src=at)
            except OSError as error:
                if error.errno not in _CANNOT:
                    raise
                in_kernel = False
                continue
        else:
            done = _copy_some(source, at, end, target)
        if not done:
            raise OSError(errno.EIO, "the transcript became shorter while it was copied")
        at += done


def _copy_parts(parts: Iterator[Piece], target: int) -> None:
    """For a conversation in several files."""
    for part in parts:
        if isinstance(part, bytes):
            write_all(target, part)
        else:
            copy_range(*part, target)


def _copy_some(source: BinaryIO, at: int, end: int, target: int) -> int:
    piece = os.pread(source.fileno(), min(1 << 20, end - at), at)
    write_all(target, piece)
    return len(piece)
