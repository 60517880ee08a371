"""SQLite's own module. `sqlite3` adds converters for dates, which nobody here uses, for 3 ms."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection, DatabaseError, OperationalError, connect
else:
    try:
        from _sqlite3 import Connection, DatabaseError, OperationalError, connect
    except ImportError:
        from sqlite3 import Connection, DatabaseError, OperationalError, connect

__all__ = ["Connection", "DatabaseError", "OperationalError", "connect"]
