"""A SQLite database's journals belong to it: apart from it they are useless, or worse."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container

_SUFFIXES = (b"-wal", b"-shm", b"-journal")


def with_journals(path: bytes) -> list[bytes]:
    """A path and all that would belong together if it were a database or one of its journals."""
    main = next((path[: -len(s)] for s in _SUFFIXES if path.endswith(s)), path)
    return [path, main, *(main + suffix for suffix in _SUFFIXES)]


def main_of(name: bytes, names: Container[bytes]) -> bytes | None:
    """The database that `name` is a journal of, if that database is among `names`."""
    for suffix in _SUFFIXES:
        if name.endswith(suffix):
            main = name[: -len(suffix)]
            return main if main and main in names else None
    return None


def companions(names: Collection[bytes]) -> dict[bytes, bytes]:
    """Journal -> database, for those that are both there."""
    journals = [name for name in names if name.endswith(_SUFFIXES)]
    if not journals:
        return {}  # nearly every directory: not a word more than this
    present = set(names)
    found = ((name, main_of(name, present)) for name in journals)
    return {name: main for name, main in found if main}
