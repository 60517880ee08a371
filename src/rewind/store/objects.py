"""The default store: content-addressed objects in one SQLite database.

Writers hold the project's lock; readers open the database whenever they like (WAL).
"""

from __future__ import annotations

import os

from rewind.errors import FormatTooNew, StoreDamaged, StoreUnavailable
from rewind.fast import sqlite
from rewind.files import PRIVATE_FILE, fsync_dir
from rewind.store.blobs import Unreadable, is_bundled, is_loose, is_whole, loose, oid_of, pack, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from typing import Any

    from rewind.store.bundles import Bundles, Gathering

    Unpack = Callable[[bytes, bytes], bytes]

FORMAT = 2
_WITH_BUNDLES = 2
_BUSY_MS = 10_000
_WAL_PAGES = 256  # the next process has no more than 1 MB to look through
_WAL_BYTES = 256 << 10  # what a WAL that was long for once is cut to, when it begins again
_FULL = 2  # SQLite's number for synchronous=FULL
_APPLICATION_ID = 0x52574E44  # "RWND"
_BATCH_BYTES = 8 << 20
_BULK_BATCH_BYTES = 32 << 20
_WORTH_SHRINKING = 2 << 20
_ROWS = 64  # so many small rows go to SQLite together
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
        self.in_bulk = False  # compression is put off; `pack_loose` makes up for it
        self._filling = False  # in bulk, and nothing was here before
        self._loose = self._loose_marked = False  # what waits is of a bulk; its transaction says so
        self.lost: set[bytes] = set()  # known to be damaged: as good as not there, and stored anew
        self.healed: set[bytes] = set()  # those of them that are whole again, once committed
        self._healing: set[bytes] = set()
        self._turn: Callable[[], AbstractContextManager[None]] | None = None  # set while others may write
        self._bundles: Bundles | None = None
        self._relied: set[bytes] = set()  # found there meanwhile, and in no checkpoint of ours yet
        if not create and not os.path.exists(path):
            raise StoreDamaged(what=f"{path} is missing")
        try:
            self._db = self._connect(create)
        except sqlite.DatabaseError as error:
            raise damage(path, error)
        try:
            if create and self._pragma("application_id") == 0:
                self._make_schema()
            self._check_identity()
            # Until the first checkpoint is written nothing here is worth an fsync: `settle` makes up
            # for it, and an `init` that lost its power begins again.
            self._run(f"PRAGMA synchronous={'OFF' if create else 'FULL'}")
        except BaseException:
            self._db.close()
            raise

    def _connect(self, create: bool) -> sqlite.Connection:
        if create:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE))
        elif not (os.access(os.path.dirname(self.path), os.W_OK) and os.access(self.path, os.W_OK)) \
                and not _has_wal(self.path):
            # A database in WAL mode wants to make files beside it, also for a reader; with the mode of the
            # database, so that they would stay read-only when it no longer is.
            from urllib.parse import quote

            where = f"file:{quote(self.path)}?mode=ro&immutable=1"
            return sqlite.connect(where, uri=True, isolation_level=None)
        return sqlite.connect(self.path, timeout=_BUSY_MS / 1000, isolation_level=None)

    def _make_schema(self) -> None:
        self._run("PRAGMA auto_vacuum=INCREMENTAL")
        # The first capture goes through a rollback journal, which writes each new page once
        # where the WAL would write it twice; `settle` then turns to the WAL.
        self._run("PRAGMA journal_mode=TRUNCATE")
        self._run("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            self._run(statement)
        self._run(f"PRAGMA application_id={_APPLICATION_ID}")
        self._run("PRAGMA user_version=1")  # until the first bundle
        self._run("COMMIT")

    def _check_identity(self) -> None:
        if self._pragma("application_id") != _APPLICATION_ID:
            raise StoreDamaged(what=f"{self.path} is not a store of Rewind")
        version = self._pragma("user_version")
        if version > FORMAT:
            raise FormatTooNew(what=self.path, found=version, known=FORMAT)

    def settle(self, shared_disk: Callable[[], bool]) -> None:
        """Before the first record: all that was stored is made durable; from here on every commit is,
        and readers work beside a writer where the disk allows it."""
        if self._pragma("synchronous") != _FULL:
            fd = os.open(self.path, os.O_RDWR)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
            fsync_dir(os.path.dirname(self.path))
            self._run("PRAGMA synchronous=FULL")
        if not self._is_wal() and os.access(self.path, os.W_OK) and not shared_disk():
            self._run("PRAGMA journal_mode=WAL")
        self._run(f"PRAGMA wal_autocheckpoint={_WAL_PAGES}")
        self._run(f"PRAGMA journal_size_limit={_WAL_BYTES}")

    def close(self) -> None:
        self._db.close()

    def _run(self, statement: str, values: tuple[object, ...] = ()) -> list[Any]:
        """Every statement goes through here, so that SQLite's troubles come out as ours."""
        if self._waiting and not self._turn:
            self._insert()
        return self._ask(statement, values)

    def _ask(self, statement: str, values: tuple[object, ...]) -> list[Any]:
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite.DatabaseError as error:
            raise damage(self.path, error)

    def _pragma(self, name: str) -> Any:
        return self._run(f"PRAGMA {name}")[0][0]

    # reading

    def _is_wal(self) -> bool:
        return bool(self._pragma("journal_mode") == "wal")

    def has(self, oid: bytes) -> bool:
        if self._filling or (self.lost and oid in self.lost):
            return False  # a fresh store: asking costs more than an insert that is ignored
        if oid in self._waiting:
            return True
        found = bool(self._ask("SELECT 1 FROM objects WHERE id=?", (oid,)))
        if found and self._turn:
            self._relied.add(oid)
        return found

    def those_there(self, oids: Iterable[bytes]) -> set[bytes]:
        """`has` for many, in a few questions."""
        wanted = set(oids) - self.lost
        found: set[bytes] = set()
        for marks, part in sqlite.in_parts(list(wanted)):
            found.update(oid for (oid,) in self._run(f"SELECT id FROM objects WHERE id IN ({marks})", part))
        if self._turn:
            self._relied |= found
        return found | (wanted & self._waiting.keys())

    def get_many(self, oids: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """(id, content) of those that are there."""
        wanted = set(oids) - self.lost
        for oid in wanted & self._waiting.keys():
            yield oid, self._unpack(oid, self._waiting[oid])
        for marks, part in sqlite.in_parts(list(wanted - self._waiting.keys())):
            for oid, packed in self._run(f"SELECT id, data FROM objects WHERE id IN ({marks})", part):
                yield oid, self._unpack(oid, self.whole(packed))

    def get(self, oid: bytes) -> bytes:
        return self._unpack(oid, self._packed(oid))

    def _packed(self, oid: bytes) -> Any:
        if oid in self._waiting:
            return self._waiting[oid]
        packed = self.whole(self._row(oid))
        # A collection may have taken the bundle apart since the row was read: then the row is another one.
        return self.whole(self._row(oid)) if is_bundled(packed) else packed

    def _row(self, oid: bytes) -> object:
        rows = self._run("SELECT data FROM objects WHERE id=?", (oid,))
        if not rows:
            raise StoreDamaged(what=f"object {oid.hex()} is missing")
        return rows[0][0]

    def whole(self, packed: Any) -> Any:
        """A row that has its content, also where that is in a bundle."""
        if not is_bundled(packed):
            return packed
        if self._bundles is None:
            from rewind.store.bundles import Bundles

            self._bundles = Bundles(self._ask)
        return self._bundles.packed(packed)

    def get_later(self, oid: bytes, by: Unpack = unpack) -> Callable[[], bytes]:
        """The same in two steps: it is read now; what is returned unpacks it, in whatever thread."""
        packed = self._packed(oid)
        return lambda: self._unpack(oid, packed, by)

    def _unpack(self, oid: bytes, packed: object, by: Unpack = unpack) -> bytes:
        if not isinstance(packed, bytes):
            raise StoreDamaged(what=f"object {oid.hex()} is not made of bytes")
        try:
            return by(oid, packed)
        except Unreadable as error:
            raise StoreDamaged(what=f"object {oid.hex()} is unreadable: {error}")

    def ids(self) -> list[bytes]:
        return [oid for (oid,) in self._run("SELECT id FROM objects")]

    def top(self) -> int:
        """Grows with every object stored; never shrinks but through a deletion."""
        return int(self._run("SELECT max(n) FROM objects")[0][0] or 0)

    def sizes(self) -> dict[bytes, int]:
        """Bytes that each takes; of a bundle, each member its share."""
        sizes = dict(self._run("SELECT id, length(data) FROM objects"))
        if self._has_bundles():
            from rewind.store.bundles import shares

            sizes.update(shares(self._bundled_rows(), self._run("SELECT id, length(data) FROM bundles")))
        return sizes

    def size_on_disk(self) -> int:
        return sum(os.path.getsize(self.path + suffix) for suffix in ("", "-wal")
                   if os.path.exists(self.path + suffix))

    def rows(self) -> Iterator[tuple[bytes, bytes]]:
        """(id, packed content) of every object, one in memory at a time. Nothing is verified."""
        found = self._run("SELECT n, id, data FROM objects ORDER BY n LIMIT 1")
        while found:
            ((n, oid, packed),) = found
            yield oid, self.whole(packed)
            found = self._run("SELECT n, id, data FROM objects WHERE n>? ORDER BY n LIMIT 1", (n,))

    def count(self) -> int:
        return int(self._run("SELECT count(*) FROM objects")[0][0])

    def is_sound(self) -> bool:
        return self._run("PRAGMA quick_check(1)") == [("ok",)]

    def check(self) -> list[str]:
        """The integrity of the file as SQLite sees it: its problems, as sentences."""
        try:
            rows = self._run("PRAGMA integrity_check(20)")
        except StoreDamaged as error:
            return [error.message]
        return [f"{self.path}: {text}" for (text,) in rows if text != "ok"]

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
        if not self._turn and (len(self._waiting) >= _ROWS or len(packed) > _ROW_BYTES):
            self._insert()
        if self._pending > (_BULK_BATCH_BYTES if self.in_bulk else _BATCH_BYTES):
            # In batches, so that a first checkpoint that is killed keeps the work it has done.
            self._commit_in_turn()

    def _commit_in_turn(self) -> None:
        if not self._turn:
            self.commit()
            return
        self._relied |= self._waiting.keys()
        with self._turn():
            self.commit()

    def _insert(self) -> None:
        rows, self._waiting = self._waiting, {}
        if not rows:
            return
        self._begin()
        if self._loose:
            self._mark_loose()
            self._loose = self.in_bulk
        healing = self.lost & rows.keys()
        self._healing |= healing
        # What is damaged makes way; what is whole stays, for it is the same.
        keyword = "REPLACE" if healing else "IGNORE"
        try:
            self._db.executemany(f"INSERT OR {keyword} INTO objects(id, data) VALUES(?, ?)", rows.items())
        except sqlite.DatabaseError as error:
            raise damage(self.path, error)

    def begin_bulk(self) -> None:
        """Much is coming: it is neither compressed nor looked for first, and goes in many rows at once."""
        self.in_bulk = True
        self._filling = self.top() == 0
        self._run(f"PRAGMA cache_size=-{_BULK_BATCH_BYTES >> 10}")
        self._loose = True
        if not self._turn:
            self._begin()
            self._mark_loose()

    def _mark_loose(self) -> None:
        """In the transaction that the rows come with: between two of them others may have packed all."""
        if self._loose_marked:
            return
        self._loose_marked = True
        top = self.top()
        # Where the last ones are being compressed right now, that ends before these: they come next.
        self._run("INSERT OR IGNORE INTO meta SELECT 'loose-next', ? FROM meta WHERE key='loose-end'", (top,))
        self._run("INSERT OR IGNORE INTO meta VALUES('loose', ?)", (top,))

    def end_bulk(self) -> None:
        if not self._turn:
            self._insert()
        self.in_bulk = self._filling = False
        self._loose = bool(self._waiting)

    def _begin(self) -> None:
        if not self._db.in_transaction:
            self._ask("BEGIN IMMEDIATE", ())

    def commit(self) -> None:
        self._insert()
        self._pending = 0
        if self._db.in_transaction:
            self._run("COMMIT")
            self._loose_marked = False
        if not self._turn:
            self._relied.clear()
        if self._healing:
            self.healed |= self._healing
            self.lost -= self._healing
            self._healing = set()

    def rollback(self) -> None:
        self._waiting = {}
        self._relied.clear()
        self._healing = set()
        self._pending = 0
        self.in_bulk = self._filling = self._loose = self._loose_marked = False
        if self._db.in_transaction:
            self._run("ROLLBACK")
            self._shrink_wal()

    def _shrink_wal(self) -> None:
        """A capture that filled the disk has its pages in the WAL still: give the space back."""
        if _has_wal(self.path) and os.path.getsize(self.path + "-wal") > _WORTH_SHRINKING:
            try:
                self._run("PRAGMA wal_checkpoint(TRUNCATE)")
            except StoreUnavailable:
                pass  # readers, or no space even for that; the next one tries again

    # while others may write

    @property
    def is_writing(self) -> bool:
        """Whether something is stored that is not committed."""
        return self._db.in_transaction

    def hold(self, turn: Callable[[], AbstractContextManager[None]]) -> None:
        """From here on the caller has no lock. What is put stays in memory; what becomes too much for that is
        committed within `turn()`, which takes the lock for that moment."""
        self._turn = turn

    def release(self) -> None:
        """The caller has the lock again."""
        self._turn = None

    def is_all_there(self) -> bool:
        """Whether nobody has collected what was found here, or committed, while we had no lock."""
        return self._relied <= self.those_there(self._relied)

    def delete(self, oids: Iterable[bytes]) -> None:
        self._begin()
        for oid in oids:
            self._run("DELETE FROM objects WHERE id=?", (oid,))
        self.commit()

    def set_meta(self, key: str, value: object) -> None:
        self._begin()
        self._run("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))
        self.commit()

    def note_deleted(self, name: str) -> None:
        """Remember the highest checkpoint name ever deleted, so that it is not given out again."""
        if name > self.last_deleted():
            self.set_meta("last-deleted", name)

    def last_deleted(self) -> str:
        rows = self._run("SELECT value FROM meta WHERE key='last-deleted'")
        return str(rows[0][0]) if rows else ""

    def has_loose(self) -> bool:
        return bool(self._run("SELECT 1 FROM meta WHERE key='loose'"))

    # upkeep: in pieces, of which only the writing needs the lock

    def begin_upkeep(self) -> None:
        """What only reorganises may be lost with the power, as long as it is lost as a whole: the WAL sees
        to that. And its pages are written back by `write_back`, not by whoever commits."""
        if self._is_wal():
            self._run("PRAGMA synchronous=NORMAL")
            self._run("PRAGMA wal_autocheckpoint=0")

    def end_upkeep(self) -> None:
        self._run("PRAGMA synchronous=FULL")
        self._run(f"PRAGMA wal_autocheckpoint={_WAL_PAGES}")

    def write_back(self) -> None:
        """Pages from the WAL to the database, beside whoever reads and writes. Needs no lock of ours."""
        if self._is_wal():
            self._run("PRAGMA wal_checkpoint(PASSIVE)")

    def pack_loose(self) -> bool:
        """Compress one batch of what was stored in a hurry; False when there is no more."""
        found = self.next_loose(_BATCH_BYTES)
        if found is not None:
            self.replace_loose(found)
        return found is not None and found.more

    def next_loose(self, most: int) -> Loose | None:
        """The next ones of those that were stored in a hurry, compressed but not written: compressing is
        what takes long. None when there are no more."""
        marks = self._loose_marks()
        if "loose" not in marks:
            return None
        end = marks.get("loose-end") or self.top()
        found = Loose(marks["loose"], end)
        rows = self._run("SELECT n, id, length(data), substr(data, 1, 1) FROM objects WHERE n>? AND n<=?"
                         " ORDER BY n LIMIT 4096", (found.after, end))
        done, made = 0, found.made
        for n, oid, size, codec in rows:
            if is_loose(codec):
                self._gather(made, n, oid)
                done += size
            found.upto, found.more = n, True
            if done > most and (made.is_between or done > 2 * most):
                break
        made.close()
        return found

    def _gather(self, made: Gathering, n: int, oid: bytes) -> None:
        # Verified before the only copy is replaced: damage must not be packed away.
        rows = self._run("SELECT data FROM objects WHERE n=?", (n,))
        if rows:
            made.add(n, oid, self._unpack(oid, rows[0][0]))

    def replace_loose(self, found: Loose) -> None:
        marks = self._loose_marks()
        if marks.get("loose") != found.after:
            return  # another process was at it, too, and was first
        self._begin()
        self._run("INSERT OR REPLACE INTO meta VALUES('loose-end', ?)", (found.end,))
        self._replace_rows(found.made)
        if found.more:
            self._run("UPDATE meta SET value=? WHERE key='loose'", (found.upto,))
        else:
            self._run("DELETE FROM meta WHERE key IN ('loose', 'loose-end')")
            self._run("UPDATE meta SET key='loose' WHERE key='loose-next'")
        self.commit()

    def next_singles(self, after: int, most: int) -> Loose | None:
        """Small objects that saves stored one by one, after a number: as many as fill bundles, compressed but
        not written. Versions of a file that came soon after each other shrink to what differs."""
        found = Loose(after, 0)
        rows = self._run("SELECT n, id FROM objects WHERE n>? AND length(data) BETWEEN 65 AND 32768"
                         " AND substr(data, 1, 1) IN (x'00', x'01') AND substr(data, 2, 6)!=x'747265653120'"
                         " ORDER BY n LIMIT 4096", (after,))
        for n, oid in rows:
            self._gather_single(found.made, n, oid)
            if found.made.is_between:
                found.upto = n
                if sum(len(bundle) for _, bundle in found.made.bundles) > most:
                    break
        if not found.made.rows:
            return None  # what is left does not fill a bundle
        return found

    def _gather_single(self, made: Gathering, n: int, oid: bytes) -> None:
        rows = self._run("SELECT data FROM objects WHERE n=?", (n,))
        if rows and is_whole(oid, rows[0][0]):
            made.add_small(n, oid, unpack(oid, rows[0][0]))

    def replace_singles(self, found: Loose) -> None:
        self._begin()
        self._replace_rows(found.made)
        self.commit()

    def _replace_rows(self, made: Gathering) -> None:
        self._add_bundles(made.bundles)
        for n, oid, packed in made.rows:
            # As a new row at the end, because rows that shrink in place leave their pages half empty. One
            # that was collected, or stored anew, meanwhile is not there under this number.
            if self._run("SELECT 1 FROM objects WHERE n=? AND id=?", (n, oid)):
                self._run("DELETE FROM objects WHERE n=?", (n,))
                self._run("INSERT INTO objects(id, data) VALUES(?, ?)", (oid, packed))

    def _has_bundles(self) -> bool:
        return bool(self._pragma("user_version") >= _WITH_BUNDLES)

    def _add_bundles(self, bundles: list[tuple[bytes, bytes]]) -> None:
        if bundles and not self._has_bundles():
            from rewind.store.bundles import SCHEMA

            # In the transaction of the first bundle: from here on older programs refuse the store.
            self._run(SCHEMA)
            self._run(f"PRAGMA user_version={_WITH_BUNDLES}")
        for bundle, packed in bundles:  # one of that name may be there still, and damaged
            self._run("INSERT OR REPLACE INTO bundles(id, data) VALUES(?, ?)", (bundle, packed))

    def _bundled_rows(self) -> list[tuple[bytes, bytes]]:
        return self._run("SELECT id, data FROM objects WHERE substr(data, 1, 1)=x'03'")

    def thin_bundles(self) -> list[tuple[bytes, list[bytes]]]:
        """Those that are needed for less than half of what they hold, with the members that are left."""
        if not self._has_bundles():
            return []
        from rewind.store.bundles import thin

        return thin(self._bundled_rows(), [bundle for (bundle,) in self._run("SELECT id FROM bundles")])

    def unbundle(self, bundle: bytes, oids: list[bytes]) -> None:
        """Its members become loose again, to be packed with others, and the bundle goes. Nobody may be
        packing, who could need the bundle again. One that is damaged stays as it is."""
        members = [(oid, self._packed(oid)) for oid in self.those_there(oids)]
        if not all(is_whole(oid, packed) for oid, packed in members):
            return
        self._begin()
        if members:
            self._mark_loose()
        for oid, packed in members:
            self._run("DELETE FROM objects WHERE id=?", (oid,))
            self._run("INSERT INTO objects(id, data) VALUES(?, ?)", (oid, loose(unpack(oid, packed))))
        self._run("DELETE FROM bundles WHERE id=?", (bundle,))
        self.commit()

    def _loose_marks(self) -> dict[str, int]:
        return dict(self._run("SELECT key, value FROM meta WHERE key IN ('loose', 'loose-end')"))

    def free_pages(self) -> int:
        return int(self._pragma("freelist_count"))

    def give_back_space(self) -> None:
        """Shrink the file on disk; deleted rows alone only leave free pages inside it."""
        self.shrink(0)
        self._run("PRAGMA wal_checkpoint(TRUNCATE)")

    def shrink(self, pages: int) -> None:
        """By so many free pages; 0 is all of them."""
        try:
            # `execute` would take one step of it, which frees one page; a script runs to the end.
            self._db.executescript(f"PRAGMA incremental_vacuum({pages})")
        except sqlite.DatabaseError as error:
            raise damage(self.path, error)

    def empty_wal(self) -> None:
        """After `write_back`, this only has to cut the file. Nobody is waited for: the next one does it."""
        if self._is_wal():
            self._run("PRAGMA busy_timeout=0")
            try:
                self._run("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                self._run(f"PRAGMA busy_timeout={_BUSY_MS}")


class Loose:
    """Objects from after one number up to another, compressed; `end` is where the whole of it ends."""

    def __init__(self, after: int, end: int) -> None:
        from rewind.store.bundles import Gathering

        self.made = Gathering()
        self.after = after
        self.end = end
        self.upto = after
        self.more = False


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
