"""SQLite's own module. `sqlite3` adds converters for dates, which nobody here uses, for 3 ms.

`_sqlite3` itself wants one function of `functools`, whose import costs another 3 ms. That function is a
thin cover of a C one, so for the moment of the import we give it a cover of our own.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from sqlite3 import Connection, DatabaseError, OperationalError, connect
    from types import ModuleType
    from typing import Any


def _stand_in() -> ModuleType:
    from _functools import _lru_cache_wrapper as wrapper  # type: ignore[import-not-found]

    def lru_cache(size: int) -> Callable[[Any], Any]:
        return lambda function: wrapper(function, size, False, tuple)

    module = type(sys)("functools")
    module.lru_cache = lru_cache  # type: ignore[attr-defined]
    return module


def _import_bare() -> Any:
    if "functools" in sys.modules:
        import _sqlite3
    else:
        sys.modules["functools"] = _stand_in()
        try:
            import _sqlite3
        finally:
            del sys.modules["functools"]
    return _sqlite3


if not TYPE_CHECKING:
    try:
        _module = _import_bare()
    except ImportError:
        import sqlite3 as _module
    Connection, connect = _module.Connection, _module.connect
    DatabaseError, OperationalError = _module.DatabaseError, _module.OperationalError

_AT_ONCE = 500  # SQLite takes no more than 999 values in a statement, where it is old


def in_parts(values: list[bytes]) -> Iterator[tuple[str, tuple[bytes, ...]]]:
    """For `… IN ({marks})`: as many marks as there are values, and the values."""
    for at in range(0, len(values), _AT_ONCE):
        part = tuple(values[at:at + _AT_ONCE])
        yield ",".join("?" * len(part)), part


def is_wal_over(path: str, size: int) -> bool:
    """Of the database at `path`."""
    try:
        return os.stat(path + "-wal").st_size > size
    except OSError:
        return False


def fold_wal(db: Connection, busy_ms: int) -> None:
    """Write the WAL's pages into the database and empty it. Nobody is waited for: where others read, the next
    one does it. `busy_ms` is how long this connection waits otherwise."""
    db.execute("PRAGMA busy_timeout=0")
    try:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        db.execute(f"PRAGMA busy_timeout={busy_ms}")


__all__ = ["Connection", "DatabaseError", "OperationalError", "connect", "fold_wal", "in_parts",
           "is_wal_over"]
