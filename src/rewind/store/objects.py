"""The default store: content-addressed objects in one SQLite database.

Writers hold the project's lock; readers open the database whenever they like (WAL).
"""

from __future__ import annotations

import os
import sqlite3

from rewind.errors import FormatTooNew, StoreDamaged, StoreUnavailable
from rewind.files import PRIVATE_FILE
from rewind.store.blobs import Unreadable, is_loose, oid_of, pack, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

FORMAT = 1
_APPLICATION_ID = 0x52574E44  # "RWND"
_BATCH_BYTES = 8 << 20
_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (n INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
"""


class ObjectStore:
    """Put and get blobs by hash. Nothing is durable before `commit`."""

    def __init__(self, path: str, *, create: bool = False, durable: bool = True) -> None:
        self.path = path
        self._pending = 0
        self._notes_loose = False
        self.added = 0  # bytes stored through this connection
        self.in_bulk = False  # compression is put off; `pack_loose` makes up for it
        if not create and not os.path.exists(path):
            raise StoreDamaged(what=f"{path} is missing")
        try:
            self._db = self._open(create, durable)
        except sqlite3.DatabaseError as error:
            raise damage(path, error)

    def _open(self, create: bool, durable: bool) -> sqlite3.Connection:
        if create:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE))
        db = sqlite3.connect(self.path, timeout=10, isolation_level=None)
        if create and not db.execute("PRAGMA application_id").fetchone()[0]:
            db.execute("PRAGMA auto_vacuum=INCREMENTAL")
            # The first capture goes through a rollback journal, which writes each new page once
            # where the WAL would write it twice; `settle` then turns to the WAL.
            db.execute("PRAGMA journal_mode=TRUNCATE")
            db.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA.split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA application_id={_APPLICATION_ID}")
            db.execute(f"PRAGMA user_version={FORMAT}")
            db.execute("COMMIT")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > FORMAT:
            raise FormatTooNew(what=self.path, found=version, known=FORMAT)
        db.execute(f"PRAGMA synchronous={'FULL' if durable else 'OFF'}")
        return db

    def settle(self, shared_disk: Callable[[], bool]) -> None:
        """After the first checkpoint: readers and a writer at once, where the disk allows it."""
        try:
            if self._db.execute("PRAGMA journal_mode").fetchone()[0] != "wal" and not shared_disk():
                self._db.execute("PRAGMA journal_mode=WAL").fetchall()
        except sqlite3.DatabaseError as error:
            raise damage(self.path, error)

    def close(self) -> None:
        self._db.close()

    # reading

    def readable_beside_a_writer(self) -> bool:
        row = self._one("PRAGMA journal_mode", ())
        return row is not None and str(row[0]) == "wal"

    def has(self, oid: bytes) -> bool:
        return self._one("SELECT 1 FROM objects WHERE id=?", (oid,)) is not None

    def get(self, oid: bytes) -> bytes:
        row = self._one("SELECT data FROM objects WHERE id=?", (oid,))
        if row is None:
            raise StoreDamaged(what=f"object {oid.hex()} is missing")
        try:
            return unpack(oid, bytes(row[0]))
        except Unreadable as error:
            raise StoreDamaged(what=f"object {oid.hex()} is unreadable: {error}")

    def _one(self, query: str, values: tuple[object, ...]) -> tuple[bytes] | None:
        try:
            row: tuple[bytes] | None = self._db.execute(query, values).fetchone()
            return row
        except sqlite3.DatabaseError as error:
            raise damage(self.path, error)

    def ids(self) -> Iterator[bytes]:
        try:
            for (oid,) in self._db.execute("SELECT id FROM objects"):
                yield bytes(oid)
        except sqlite3.DatabaseError as error:
            raise damage(self.path, error)

    def top(self) -> int:
        """Grows with every object stored; never shrinks but through a deletion."""
        row = self._one("SELECT max(n) FROM objects", ())
        return int(row[0] or 0) if row else 0

    def sizes(self) -> dict[bytes, int]:
        try:
            rows = self._db.execute("SELECT id, length(data) FROM objects")
            return {bytes(oid): size for oid, size in rows}
        except sqlite3.DatabaseError as error:
            raise damage(self.path, error)

    def size_on_disk(self) -> int:
        return sum(os.path.getsize(self.path + suffix) for suffix in ("", "-wal")
                   if os.path.exists(self.path + suffix))

    # writing

    def put(self, data: bytes) -> bytes:
        oid = oid_of(data)
        if not self.has(oid):
            self.put_packed(oid, pack(data))
        return oid

    def put_packed(self, oid: bytes, packed: bytes) -> None:
        try:
            if not self._db.in_transaction:
                self._db.execute("BEGIN IMMEDIATE")
            if is_loose(packed) and not self._notes_loose:
                self._notes_loose = True
                self._db.execute("INSERT OR IGNORE INTO meta VALUES('loose', ?)", (self.top(),))
            self._db.execute("INSERT OR IGNORE INTO objects(id, data) VALUES(?, ?)", (oid, packed))
        except sqlite3.DatabaseError as error:
            raise damage(self.path, error)
        self._pending += len(packed)
        self.added += len(packed)
        if self._pending > _BATCH_BYTES:
            # In batches, so that a first checkpoint that is killed keeps the work it has done.
            self.commit()

    def commit(self) -> None:
        self._pending = 0
        if self._db.in_transaction:
            try:
                self._db.execute("COMMIT")
            except sqlite3.DatabaseError as error:
                raise damage(self.path, error)

    def rollback(self) -> None:
        self._pending = 0
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def delete(self, oids: Iterable[bytes]) -> int:
        self._db.execute("BEGIN IMMEDIATE")
        before = self._db.total_changes
        self._db.executemany("DELETE FROM objects WHERE id=?", ((oid,) for oid in oids))
        removed = self._db.total_changes - before
        self._db.execute("COMMIT")
        return removed

    def has_loose(self) -> bool:
        return self.meta("loose") is not None

    def pack_loose(self) -> bool:
        """Compress one batch of what was stored in a hurry; False when there is no more."""
        at = self.meta("loose")
        if not isinstance(at, int):
            return False
        self._db.execute("BEGIN IMMEDIATE")
        done = 0
        rows = self._db.execute("SELECT n, id, data FROM objects WHERE n>? ORDER BY n", (at,))
        for n, oid, data in rows:
            if is_loose(data):
                # Verified before the only copy is replaced: damage must not be packed away.
                self._db.execute("UPDATE objects SET data=? WHERE n=?", (pack(unpack(oid, data)), n))
            done += len(data)
            at = n
            if done > _BATCH_BYTES:
                self._db.execute("UPDATE meta SET value=? WHERE key='loose'", (at,))
                self._db.execute("COMMIT")
                return True
        self._db.execute("DELETE FROM meta WHERE key='loose'")
        self._db.execute("COMMIT")
        return False

    def give_back_space(self) -> None:
        """Shrink the file on disk; deleted rows alone only leave free pages inside it."""
        # `execute` would take one step of it, which frees one page; a script runs to the end.
        self._db.executescript("PRAGMA incremental_vacuum")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    # the integrity of the file as SQLite sees it

    def check(self) -> list[str]:
        try:
            rows = self._db.execute("PRAGMA integrity_check(20)").fetchall()
        except sqlite3.DatabaseError as error:
            return [f"{self.path}: {error}"]
        return [f"{self.path}: {text}" for (text,) in rows if text != "ok"]

    def meta(self, key: str) -> object:
        row = self._one("SELECT value FROM meta WHERE key=?", (key,))
        return row[0] if row else None

    def set_meta(self, key: str, value: object) -> None:
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))


def damage(path: str, error: sqlite3.DatabaseError) -> Exception:
    """What SQLite says, as one of ours: a full disk or a lock is not damage."""
    text = str(error)
    if isinstance(error, sqlite3.OperationalError) and "malformed" not in text:
        return StoreUnavailable(reason=text, path=path)
    return StoreDamaged(what=f"{path}: {text}")
