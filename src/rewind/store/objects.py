"""The default store: content-addressed objects in one SQLite database.

This module has what every checkpoint needs. `packing.py` compresses what was stored uncompressed, and
`space.py` keeps the file small. Writers hold the project's lock; readers may open the database at any time.
"""

from __future__ import annotations

import os

from rewind.errors import FormatTooNew, StoreDamaged, StoreUnavailable
from rewind.fast import sqlite
from rewind.files import PRIVATE_FILE, fsync_dir
from rewind.store.blobs import Unreadable, is_bundled, oid_of, pack, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from typing import Any

    from rewind.store.bundles import Bundles
    from rewind.store.writer import Writer

FORMAT = 2
PAGE_BYTES = 4096  # so that `carve.py` finds the rows of a database that does not open
WITH_BUNDLES = 2
BUSY_MS = 10_000
WAL_BYTES = 1 << 20  # a longer WAL is emptied, because every process that opens the database reads it
_FULL = 2  # SQLite's number for synchronous=FULL
_APPLICATION_ID = 0x52574E44  # "RWND"
_BATCH_BYTES = 8 << 20
_BULK_BATCH_BYTES = 16 << 20
_WORTH_SHRINKING = 2 << 20
_ROWS = 64  # small rows that go to SQLite in one statement
_ROW_BYTES = 64 << 10
_SCHEMA = (
    "CREATE TABLE objects (n INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, data BLOB NOT NULL)",
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID",
)


class ObjectStore:
    """Put and get blobs by hash. Nothing is durable before `commit`."""

    def __init__(self, path: str, *, create: bool = False) -> None:
        self.path = path
        self._pending = 0
        self._waiting: dict[bytes, bytes] = {}  # rows not yet handed to SQLite
        self.added = 0  # bytes stored through this connection
        self.in_bulk = False  # compression is put off; `packing.py` makes up for it
        self.folds = True  # a commit also empties a long WAL; otherwise this is done when nobody waits
        self._long_wal = WAL_BYTES
        self._filling = False  # in bulk, into a store that was empty
        self._loose = False  # the waiting rows were packed loosely
        self._loose_marked = False  # the transaction has noted that
        self.lost: set[bytes] = set()  # known to be damaged: treated as missing, so they are stored anew
        self.healed: set[bytes] = set()  # those that are whole again, once committed
        self._healing: set[bytes] = set()
        # Set while others may write: takes the lock for a commit.
        self._lock_to_take: Callable[[], AbstractContextManager[None]] | None = None
        self._writer: Writer | None = None  # in bulk: writes while the caller reads
        self._bundles: Bundles | None = None
        self._relied: set[bytes] = set()  # found or committed without the lock, for the next checkpoint
        if not create and not os.path.exists(path):
            raise StoreDamaged(what=f"{path} is missing")
        try:
            self._db = self._connect(create)
        except sqlite.DatabaseError as error:
            raise damage(path, error)
        try:
            if create and self.pragma("application_id") == 0:
                self._make_schema()
            self._check_identity()
            # Until the first checkpoint is written nothing here is worth an fsync: `make_durable` catches up,
            # and after a power failure `init` begins again.
            self.run(f"PRAGMA synchronous={'OFF' if create else 'FULL'}")
            # SQLite writes pages back by itself, but starts the WAL anew only at the next commit of the same
            # process. A hook commits once: the WAL would grow, and each hook would write all of it back.
            self.run("PRAGMA wal_autocheckpoint=0")
        except BaseException:
            self._db.close()
            raise

    def _connect(self, create: bool) -> sqlite.Connection:
        if create:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE))
        elif not (os.access(os.path.dirname(self.path), os.W_OK) and os.access(self.path, os.W_OK)) \
                and not _has_wal(self.path):
            # Even for a reader, SQLite would make files beside a database in WAL mode. They would have its
            # mode, and stay read-only when the database no longer is.
            from urllib.parse import quote

            where = f"file:{quote(self.path)}?mode=ro&immutable=1"
            return sqlite.connect(where, uri=True, isolation_level=None)
        return sqlite.connect(self.path, timeout=BUSY_MS / 1000, isolation_level=None,
                              check_same_thread=False)  # see `writer.py`

    def _make_schema(self) -> None:
        self.run(f"PRAGMA page_size={PAGE_BYTES}")
        self.run("PRAGMA auto_vacuum=INCREMENTAL")
        # The first capture uses a rollback journal, which writes each new page once; the WAL would write it
        # twice. `make_durable` then switches to the WAL.
        self.run("PRAGMA journal_mode=TRUNCATE")
        self.run("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            self.run(statement)
        self.run(f"PRAGMA application_id={_APPLICATION_ID}")
        self.run("PRAGMA user_version=1")  # until the first bundle
        self.run("COMMIT")

    def _check_identity(self) -> None:
        if self.pragma("application_id") != _APPLICATION_ID:
            raise StoreDamaged(what=f"{self.path} is not a store of Rewind")
        version = self.pragma("user_version")
        if version > FORMAT:
            raise FormatTooNew(what=self.path, found=version, known=FORMAT)

    def make_durable(self, shared_disk: Callable[[], bool]) -> None:
        """Called before the first record: makes everything stored so far durable, and every later commit as
        well. Readers can then work beside a writer, if the disk allows it."""
        if self.pragma("synchronous") != _FULL:
            fd = os.open(self.path, os.O_RDWR)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
            fsync_dir(os.path.dirname(self.path))
            self.run("PRAGMA synchronous=FULL")
        if not self.is_wal() and os.access(self.path, os.W_OK) and not shared_disk():
            self.run("PRAGMA journal_mode=WAL")

    def close(self) -> None:
        if self._writer:
            self._writer.close()
            self._writer = None
        self._db.close()

    def run(self, statement: str, values: tuple[object, ...] = ()) -> list[Any]:
        """Run a statement, and raise SQLite's errors as ours."""
        if self._waiting and not self._lock_to_take:
            self._insert()
        return self._ask(statement, values)

    def _ask(self, statement: str, values: tuple[object, ...] = ()) -> list[Any]:
        if self._writer and not self._writer.is_this_thread():
            self._writer.wait()
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite.DatabaseError as error:
            raise damage(self.path, error)

    def run_script(self, script: str) -> None:
        """For a statement that works in steps, of which `run` would do only the first."""
        try:
            self._db.executescript(script)
        except sqlite.DatabaseError as error:
            raise damage(self.path, error)

    def pragma(self, name: str) -> Any:
        return self.run(f"PRAGMA {name}")[0][0]

    # reading

    def is_wal(self) -> bool:
        return bool(self.pragma("journal_mode") == "wal")

    def has(self, oid: bytes) -> bool:
        if self._filling or (self.lost and oid in self.lost):
            return False  # in a new store a query costs more than an insert that is ignored
        if oid in self._waiting:
            return True
        found = bool(self._ask("SELECT 1 FROM objects WHERE id=?", (oid,)))
        if found and self._lock_to_take:
            self._relied.add(oid)
        return found

    def find_existing(self, oids: Iterable[bytes]) -> set[bytes]:
        """`has` for many objects, in a few queries."""
        wanted = set(oids) - self.lost
        found: set[bytes] = set()
        for marks, part in sqlite.in_parts(list(wanted)):
            found.update(oid for (oid,) in self.run(f"SELECT id FROM objects WHERE id IN ({marks})", part))
        if self._lock_to_take:
            self._relied |= found
        return found | (wanted & self._waiting.keys())

    def get_many(self, oids: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """(id, content) of those that exist."""
        wanted = set(oids) - self.lost
        for oid in wanted & self._waiting.keys():
            yield oid, self.unpacked(oid, self._waiting[oid])
        for marks, part in sqlite.in_parts(list(wanted - self._waiting.keys())):
            for oid, packed in self.run(f"SELECT id, data FROM objects WHERE id IN ({marks})", part):
                yield oid, self.unpacked(oid, self.whole(packed))

    def get(self, oid: bytes) -> bytes:
        return self.unpacked(oid, self.packed(oid))

    def packed(self, oid: bytes) -> Any:
        if oid in self._waiting:
            return self._waiting[oid]
        packed = self.whole(self._row(oid))
        # A collection may have taken the bundle apart since the row was read; then the row is new.
        return self.whole(self._row(oid)) if is_bundled(packed) else packed

    def _row(self, oid: bytes) -> object:
        rows = self.run("SELECT data FROM objects WHERE id=?", (oid,))
        if not rows:
            raise StoreDamaged(what=f"object {oid.hex()} is missing")
        return rows[0][0]

    def whole(self, packed: Any) -> Any:
        """The row with its content; that of a member is taken from its bundle."""
        if not is_bundled(packed):
            return packed
        if self._bundles is None:
            from rewind.store.bundles import Bundles

            self._bundles = Bundles(self._ask)
        return self._bundles.packed(packed)

    def unpacked(self, oid: bytes, packed: object) -> bytes:
        if not isinstance(packed, bytes):
            raise StoreDamaged(what=f"object {oid.hex()} is not made of bytes")
        try:
            return unpack(oid, packed)
        except Unreadable as error:
            raise StoreDamaged(what=f"object {oid.hex()} is unreadable: {error}")

    def ids(self) -> list[bytes]:
        return [oid for (oid,) in self.run("SELECT id FROM objects")]

    def top(self) -> int:
        """The highest number of an object: it grows with every new one, and only a deletion lowers it."""
        return int(self.run("SELECT max(n) FROM objects")[0][0] or 0)

    def sizes(self) -> dict[bytes, int]:
        """The bytes that each object takes; a member of a bundle takes its share of the bundle."""
        sizes = dict(self.run("SELECT id, length(data) FROM objects"))
        if self.has_bundles():
            from rewind.store.bundles import member_sizes

            sizes.update(member_sizes(self.bundled_rows(), self.run("SELECT id, length(data) FROM bundles")))
        return sizes

    def size_on_disk(self) -> int:
        return sum(os.path.getsize(self.path + suffix) for suffix in ("", "-wal")
                   if os.path.exists(self.path + suffix))

    def rows(self) -> Iterator[tuple[bytes, bytes]]:
        """(id, packed content) of every object, one in memory at a time. Nothing is verified."""
        found = self.run("SELECT n, id, data FROM objects ORDER BY n LIMIT 1")
        while found:
            ((n, oid, packed),) = found
            yield oid, self.whole(packed)
            found = self.run("SELECT n, id, data FROM objects WHERE n>? ORDER BY n LIMIT 1", (n,))

    def count(self) -> int:
        return int(self.run("SELECT count(*) FROM objects")[0][0])

    def is_sound(self) -> bool:
        return self.run("PRAGMA quick_check(1)") == [("ok",)]

    def check(self) -> list[str]:
        """What SQLite finds wrong with the file, as sentences."""
        try:
            rows = self.run("PRAGMA integrity_check(20)")
        except StoreDamaged as error:
            return [error.message]
        return [f"{self.path}: {text}" for (text,) in rows if text != "ok"]

    def has_bundles(self) -> bool:
        return bool(self.pragma("user_version") >= WITH_BUNDLES)

    def bundled_rows(self) -> list[tuple[bytes, bytes]]:
        return self.run("SELECT id, data FROM objects WHERE substr(data, 1, 1)=x'03'")

    # writing

    def put(self, data: bytes) -> bytes:
        oid = oid_of(data)
        if not self.has(oid):
            self.put_packed(oid, pack(data))
        return oid

    def put_packed(self, oid: bytes, packed: bytes) -> None:
        self._waiting[oid] = packed
        self._pending += len(packed)
        self.added += len(packed)
        if not self._lock_to_take and (len(self._waiting) >= _ROWS or len(packed) > _ROW_BYTES):
            self._insert()
        if self._pending > (_BULK_BATCH_BYTES if self.in_bulk else _BATCH_BYTES):
            # In batches, so that a first checkpoint that is killed keeps the work it has done.
            self._commit_locked()

    def _commit_locked(self) -> None:
        if self._writer:
            self._pending = 0
            self._insert()
            self._writer.do(self._end_transaction)
            return
        if not self._lock_to_take:
            self.commit()
            return
        self._relied |= self._waiting.keys()
        with self._lock_to_take():
            self.commit()

    def _insert(self) -> None:
        rows, self._waiting = self._waiting, {}
        if not rows:
            return
        if self._writer:
            self._writer.do(lambda: self._insert_rows(rows))
        else:
            self._insert_rows(rows)

    def _insert_rows(self, rows: dict[bytes, bytes]) -> None:
        self.begin()
        if self._loose:
            self.mark_loose()
            self._loose = self.in_bulk
        healing = self.lost & rows.keys()
        self._healing |= healing
        # A damaged row is replaced; a whole one has the same content and stays.
        keyword = "REPLACE" if healing else "IGNORE"
        values = [part for row in rows.items() for part in row]
        for at in range(0, len(values), 2 * _ROWS):  # SQLite lets other threads run during a statement
            part = tuple(values[at:at + 2 * _ROWS])
            marks = ",".join(["(?, ?)"] * (len(part) // 2))
            self._ask(f"INSERT OR {keyword} INTO objects(id, data) VALUES {marks}", part)

    def begin_bulk(self) -> None:
        """Before many objects are stored: they are not compressed now, and not looked up first, and many rows
        go into one statement."""
        self.in_bulk = True
        self._filling = self.top() == 0
        self.run(f"PRAGMA cache_size=-{_BULK_BATCH_BYTES >> 10}")
        self._loose = True
        if not self._lock_to_take:
            from rewind.store.writer import Writer

            self.begin()
            self.mark_loose()
            self._writer = Writer()

    def mark_loose(self) -> None:
        """Note that loose rows follow, in the same transaction: between two transactions, another process may
        have packed everything and removed the note."""
        if self._loose_marked:
            return
        self._loose_marked = True
        top = self._ask("SELECT max(n) FROM objects")[0][0] or 0
        # If another process is compressing right now, it stops before these rows. They come next.
        self._ask("INSERT OR IGNORE INTO meta SELECT 'loose-next', ? FROM meta WHERE key='loose-end'", (top,))
        self._ask("INSERT OR IGNORE INTO meta VALUES('loose', ?)", (top,))

    def end_bulk(self) -> None:
        if not self._lock_to_take:
            self._insert()
        self._end_writer()
        self.in_bulk = self._filling = False
        self._loose = bool(self._waiting)

    def _end_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer:
            try:
                writer.wait()
            finally:
                writer.close()

    def begin(self) -> None:
        if not self._db.in_transaction:
            self._ask("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self._insert()
        self._pending = 0
        if self._writer:
            self._writer.wait()
        self._end_transaction()
        if not self._lock_to_take:
            self._relied.clear()
        if self._healing:
            self.healed |= self._healing
            self.lost -= self._healing
            self._healing = set()

    def _end_transaction(self) -> None:
        if self._db.in_transaction:
            self._ask("COMMIT")
            self._loose_marked = False
            if self.is_wal_over(self._long_wal if self.folds else _BULK_BATCH_BYTES):
                self.fold()

    def rollback(self) -> None:
        if self._writer:
            self._writer.close()
            self._writer = None
        self._waiting = {}
        self._relied.clear()
        self._healing = set()
        self._pending = 0
        self.in_bulk = self._filling = self._loose = self._loose_marked = False
        if self._db.in_transaction:
            self.run("ROLLBACK")
            # If a capture filled the disk, its pages are still in the WAL: give the space back.
            if self.is_wal_over(_WORTH_SHRINKING):
                self.fold()

    def defer_fold(self) -> None:
        """For a command that somebody waits for: let the WAL grow longer. The next hook empties it once its
        agent has gone on, and the next save does at 1 MB."""
        self._long_wal = 4 * WAL_BYTES

    def is_wal_over(self, size: int) -> bool:
        return sqlite.is_wal_over(self.path, size)

    def fold(self) -> None:
        """Empty the WAL. If the disk has no space for that, the next process does it."""
        try:
            sqlite.fold_wal(self._db, BUSY_MS)
        except sqlite.DatabaseError as error:
            problem = damage(self.path, error)
            if not isinstance(problem, StoreUnavailable):
                raise problem

    # while others may write

    @property
    def is_writing(self) -> bool:
        """Whether something is stored that is not committed."""
        return self._db.in_transaction

    def begin_unlocked(self, lock: Callable[[], AbstractContextManager[None]]) -> None:
        """From here on the caller does not hold the lock. New objects stay in memory. If there are too many,
        they are committed within `lock()`, which takes the lock for that moment."""
        self._lock_to_take = lock

    def end_unlocked(self) -> None:
        """The caller has the lock again."""
        self._lock_to_take = None

    def has_all_relied_on(self) -> bool:
        """Whether everything that was found or committed without the lock is still here."""
        return self._relied <= self.find_existing(self._relied)

    def delete(self, oids: Iterable[bytes]) -> None:
        self.begin()
        for oid in oids:
            self.run("DELETE FROM objects WHERE id=?", (oid,))
        self.commit()

    def set_meta(self, key: str, value: object) -> None:
        self.begin()
        self.run("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))
        self.commit()

    def note_deleted(self, name: str) -> None:
        """Remember the highest checkpoint name ever deleted, so that it is not given out again."""
        if name > self.last_deleted():
            self.set_meta("last-deleted", name)

    def last_deleted(self) -> str:
        rows = self.run("SELECT value FROM meta WHERE key='last-deleted'")
        return str(rows[0][0]) if rows else ""

    def has_loose(self) -> bool:
        return bool(self.run("SELECT 1 FROM meta WHERE key='loose'"))


def _has_wal(path: str) -> bool:
    return os.path.exists(path + "-wal") and os.path.getsize(path + "-wal") > 0


def damage(path: str, error: sqlite.DatabaseError) -> Exception:
    """What SQLite says, as one of ours: a full disk or a lock is not damage."""
    text = str(error)
    if isinstance(error, sqlite.OperationalError) and "malformed" not in text:
        return StoreUnavailable(reason=text, path=path)
    return StoreDamaged(what=f"{path}: {text}")


def remove_database(path: str) -> None:
    """The file and what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        try:
            os.unlink(path + suffix)
        except FileNotFoundError:
            pass
