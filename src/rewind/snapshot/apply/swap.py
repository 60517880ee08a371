"""Renames that Python does not offer: two names are exchanged, or a file is renamed only if its new name is
free.

So a file that appeared at a name a moment ago is never replaced.
"""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Rename = Callable[[int, bytes, int, bytes, int], int]

_MAC = sys.platform == "darwin"
_HERE = -2 if _MAC else -100  # AT_FDCWD
_EXCHANGE, _NO_REPLACE = 2, 4 if _MAC else 1
_UNABLE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)
_found: list[Rename | None] = []


def exchange(one: bytes, other: bytes, one_dir: int | None, other_dir: int | None) -> bool:
    """Exchange two names that exist. False if the system or the file system cannot do it."""
    return _rename(one, other, one_dir, other_dir, _EXCHANGE)


def rename_to_free_name(old: bytes, new: bytes, old_dir: int | None, new_dir: int | None) -> None:
    """Raises FileExistsError if the name is taken."""
    if _rename(old, new, old_dir, new_dir, _NO_REPLACE):
        return
    try:
        os.link(old, new, src_dir_fd=old_dir, dst_dir_fd=new_dir, follow_symlinks=False)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno == errno.EXDEV:
            raise
        os.rename(old, new, src_dir_fd=old_dir, dst_dir_fd=new_dir)  # the file system has no hard links
        return
    os.unlink(old, dir_fd=old_dir)


def _rename(old: bytes, new: bytes, old_dir: int | None, new_dir: int | None, how: int) -> bool:
    rename = _system_call()
    if rename is None:
        return False
    from ctypes import get_errno

    at, to = (_HERE if folder is None else folder for folder in (old_dir, new_dir))
    if rename(at, old, to, new, how) == 0:
        return True
    number = get_errno()
    if number in _UNABLE:
        return False
    raise OSError(number, os.strerror(number), new)


def _system_call() -> Rename | None:
    if not _found:
        _found.append(_look_for_it())
    return _found[0]


def _look_for_it() -> Rename | None:
    try:
        import ctypes

        call = getattr(ctypes.CDLL(None, use_errno=True), "renameatx_np" if _MAC else "renameat2")
        call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
        call.restype = ctypes.c_int
    except (ImportError, OSError, AttributeError):
        return None  # a Python without ctypes, or a system without the call
    found: Rename = call
    return found
