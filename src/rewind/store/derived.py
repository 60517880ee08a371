"""`scan-cache.db`: facts that can be computed again. It is deleted at the first sign of damage."""

from __future__ import annotations

import os

from rewind.fast import sqlite
from rewind.files import PRIVATE_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_VERSION = 7
_BUSY_MS = 2000
_SCHEMA = (
    # One row per directory of the project; `docs/format.md` explains the columns.
    "CREATE TABLE dirs (path BLOB PRIMARY KEY, env BLOB, sig BLOB, out_env BLOB, tree BLOB,"
    " files INTEGER, bytes INTEGER, uncovered INTEGER, marks BLOB, special INTEGER)",
    "CREATE INDEX IF NOT EXISTS special ON dirs (path) WHERE special",
    "CREATE TABLE stats (path BLOB PRIMARY KEY, rows BLOB)",
    "CREATE TABLE records (name TEXT PRIMARY KEY, stamp TEXT, summary TEXT, sequence INTEGER,"
    " brief TEXT)",
    "CREATE INDEX IF NOT EXISTS newest ON records (sequence)",
    # All that a list reads. Without this index it would be spread over many more pages.
    "CREATE INDEX IF NOT EXISTS listed ON records (name, stamp, brief)",
    "CREATE TABLE transcripts (path TEXT PRIMARY KEY, stamp TEXT, summary TEXT)",
    # How far a transcript was read, where each of its turns begins, and what a turn did to the files.
    "CREATE TABLE turn_files (path TEXT PRIMARY KEY, stamp TEXT, upto INTEGER, head TEXT, tail TEXT,"
    " state TEXT)",
    "CREATE TABLE turns (path TEXT, number INTEGER, turn INTEGER, offset INTEGER, uuid TEXT, stamp TEXT,"
    " prompt TEXT, parent INTEGER, parent_id TEXT, depth INTEGER, PRIMARY KEY (path, number)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS turn_numbers ON turns (path, turn)",
    "CREATE TABLE turn_changes (trees TEXT PRIMARY KEY, summary TEXT) WITHOUT ROWID",
    "CREATE TABLE facts (key TEXT PRIMARY KEY, value) WITHOUT ROWID",
)

# A damaged file, half a character in a text from a transcript, or a number that is too large for SQLite.
_TROUBLE = (sqlite.DatabaseError, UnicodeEncodeError, OverflowError)


class DerivedDb:
    """A small SQLite database that anybody may delete at any time."""

    def __init__(self, path: str, owner: str, *, shared_disk: bool = False) -> None:
        self.path = path
        self.owner = owner  # the object database that these facts are about
        self._shared_disk = shared_disk
        try:
            self._db = self._open()
        except (sqlite.DatabaseError, OSError):
            self._start_over()

    def _open(self) -> sqlite.Connection:
        fresh = not os.path.exists(self.path)
        if fresh:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE))
        db = sqlite.connect(self.path, timeout=_BUSY_MS / 1000, isolation_level=None)
        try:
            self._get_ready(db, fresh)
        except BaseException:
            db.close()
            raise
        return db

    def _get_ready(self, db: sqlite.Connection, fresh: bool) -> None:
        if fresh or db.execute("PRAGMA user_version").fetchone()[0] == 0:
            self._create(db)
        owner = db.execute("SELECT value FROM facts WHERE key='owner'").fetchone()
        if db.execute("PRAGMA user_version").fetchone()[0] != _VERSION or owner != (self.owner,):
            raise sqlite.DatabaseError("made by another version, or for another store")
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute("PRAGMA wal_autocheckpoint=256")
        db.execute("PRAGMA journal_size_limit=262144")

    def _create(self, db: sqlite.Connection) -> None:
        db.execute(f"PRAGMA journal_mode={'DELETE' if self._shared_disk else 'WAL'}")
        db.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            db.execute(statement.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))
        db.execute("INSERT OR REPLACE INTO facts VALUES('owner', ?)", (self.owner,))
        db.execute(f"PRAGMA user_version={_VERSION}")
        db.execute("COMMIT")

    def _start_over(self) -> None:
        try:
            for suffix in ("", "-wal", "-shm", "-journal"):
                if os.path.lexists(self.path + suffix):
                    os.unlink(self.path + suffix)
            self._db = self._open()
        except (sqlite.DatabaseError, OSError):
            # Nothing can be written here (read-only, full): remember nothing.
            self._db = sqlite.connect(":memory:", isolation_level=None)
            self._create(self._db)

    def close(self) -> None:
        self._db.close()

    def defer_fold(self) -> None:
        """For a caller that calls `fold` when nobody waits, or leaves it to the next process. Fifty changed
        directories fill 200 pages, and writing them back takes longer than the commit."""
        self.query("PRAGMA wal_autocheckpoint=1000")

    def is_wal_over(self, size: int) -> bool:
        return sqlite.is_wal_over(self.path, size)

    def fold(self) -> None:
        """Empty the WAL if nobody reads it and the disk has room."""
        try:
            sqlite.fold_wal(self._db, _BUSY_MS)
        except _TROUBLE:
            pass

    def is_sound(self) -> bool:
        return self.query("PRAGMA integrity_check(1)") == [("ok",)]

    def query(self, statement: str, values: tuple[object, ...] = ()) -> list[Any]:
        """Rows; none if the file is damaged, because then the caller computes them."""
        try:
            return self._db.execute(statement, values).fetchall()
        except _TROUBLE:
            return []

    def write(self, changes: Iterable[tuple[str, list[tuple[object, ...]]]]) -> bool:
        """All changes or none. A failure does no harm: what is not remembered is computed again."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for statement, rows in changes:
                self._db.executemany(statement, rows)
            self._db.execute("COMMIT")
            return True
        except _TROUBLE:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            return False

    def forget_everything(self) -> None:
        self._db.close()
        self._start_over()
