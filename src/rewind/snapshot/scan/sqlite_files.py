"""Which files are the journals of a SQLite database. They belong to it: alone they are useless or do harm."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
_SUFFIXES = (b"-wal", b"-shm", b"-journal")
MAGIC = b"SQLite format 3\0"
HEADER = 100  # bytes at the beginning of a database
HEAD = 8  # bytes that distinguish a journal from a file that only has such a name
# A finished rollback journal begins with zeroes. The index of a WAL is rebuilt whatever is in it.
WAL_MAGICS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
JOURNAL_MAGIC = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
_BEGINNINGS = {b"-wal": WAL_MAGICS,
               b"-shm": (b"\x18\xe2\x2d\x00", b"\x00\x2d\xe2\x18", bytes(4)),
               b"-journal": (JOURNAL_MAGIC, bytes(8))}


def main_of(path: bytes) -> bytes | None:
    """The database that this would be a journal of, judged by its name."""
    for suffix in _SUFFIXES:
        if path.endswith(suffix) and path != suffix:
            return path[: -len(suffix)]
    return None


def journals_of(main: bytes) -> list[bytes]:
    return [main + suffix for suffix in _SUFFIXES]


def is_journal(path: bytes, head: bytes) -> bool:
    """Whether a file with this name and beginning is a journal. An empty file may be one."""
    return not head or any(path.endswith(suffix) and head.startswith(beginnings)
                           for suffix, beginnings in _BEGINNINGS.items())


def is_database_at(path: bytes, dir_fd: int | None = None) -> bool:
    return _head(path, dir_fd, len(MAGIC)) == MAGIC


def is_journal_at(path: bytes, dir_fd: int | None = None) -> bool:
    """Judged by the file itself, or by its name if it cannot be read. A file that begins with zeroes is a
    journal only if it is beside a database."""
    head = _head(path, dir_fd, HEAD)
    if head is None:
        return True
    if head.strip(b"\0") or not head:
        return is_journal(path, head)
    main = main_of(path)
    database = _head(main, dir_fd, len(MAGIC)) if main else None
    return is_journal(path, head) and database in (None, b"", MAGIC)


def _head(path: bytes, dir_fd: int | None, size: int) -> bytes | None:
    """None if it cannot be read."""
    try:
        fd = os.open(path, _FLAGS, dir_fd=dir_fd)
    except OSError:
        return None
    try:
        return os.read(fd, size)
    except OSError:
        return None
    finally:
        os.close(fd)


def companions(names: Collection[bytes]) -> dict[bytes, bytes]:
    """Journal -> database, if both are among the names."""
    journals = [name for name in names if name.endswith(_SUFFIXES)]
    if not journals:
        return {}  # the case of nearly every directory, so nothing else is done for it
    present = set(names)
    found = ((name, main_of(name)) for name in journals)
    return {name: main for name, main in found if main and main in present}


def real_group(members: list[bytes], fd: int) -> list[bytes]:
    """The database, which comes first, and those of the others that really are its journals."""
    return [members[0], *(name for name in members[1:] if is_journal_at(name, fd))]
