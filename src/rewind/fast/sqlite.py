"""SQLite's C module. `sqlite3` takes 3 ms to add converters for dates, which we do not use.

`_sqlite3` itself needs one function of `functools`, whose import costs another 3 ms. That function only wraps
a C function, so during the import we provide a wrapper of our own.
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

_AT_ONCE = 500  # an old SQLite takes no more than 999 values in a statement


def in_parts(values: list[bytes]) -> Iterator[tuple[str, tuple[bytes, ...]]]:
    """For `… IN ({marks})`: the marks for some of the values, and these values."""
    for at in range(0, len(values), _AT_ONCE):
        part = tuple(values[at:at + _AT_ONCE])
        yield ",".join("?" * len(part)), part


def is_wal_over(path: str, size: int) -> bool:
    try:
        return os.stat(path + "-wal").st_size > size
    except OSError:
        return False


def fold_wal(db: Connection, busy_ms: int) -> None:
    """Write the WAL's pages into the database and empty the WAL. This does not wait: if others read, the next
    process does it. `busy_ms` is how long this connection waits otherwise."""
    db.execute("PRAGMA busy_timeout=0")
    try:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        db.execute(f"PRAGMA busy_timeout={busy_ms}")


__all__ = ["Connection", "DatabaseError", "OperationalError", "connect", "fold_wal", "in_parts",
           "is_wal_over"]
