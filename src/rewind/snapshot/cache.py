"""The scan cache: what the last scan saw of each directory, so that the next one need not look."""

from __future__ import annotations

import struct

from rewind.snapshot.walk import Known
from rewind.store.sqlite import in_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from rewind.store.derived import DerivedDb

_STAT = struct.Struct("<QqqQHB")  # size, mtime, ctime, inode, mode, racy
_COUNT = struct.Struct("<I")
_COLUMNS = ("path", "env", "sig", "out_env", "tree", "files", "bytes", "uncovered", "marks")


class KnownDirs:
    """What the last scan learned. The walk needs a signature for each directory and little else, so
    that is all that is loaded at once; whole rows come one by one, for what has changed."""

    def __init__(self, db: DerivedDb | None) -> None:
        self._db = db
        self._rows: dict[bytes, Known | None] = {}
        self.sigs: dict[bytes, bytes] = {}
        self.special: dict[bytes, tuple[bytes, bytes]] = {}  # those with ignore files or marks
        if db:
            self.sigs = dict(db.query("SELECT path, sig FROM dirs"))
            self.special = {path: (out_env, marks) for path, out_env, marks in db.query(
                "SELECT path, out_env, marks FROM dirs WHERE special")}

    def get(self, path: bytes) -> Known | None:
        if path not in self.sigs:
            return None
        if path not in self._rows:
            self.fetch([path])
        return self._rows[path]

    def fetch(self, paths: Iterable[bytes]) -> None:
        """Many at once: a question for each would take longer than reading what has changed."""
        wanted = [path for path in paths if path in self.sigs and path not in self._rows]
        self._rows.update(dict.fromkeys(wanted))
        if self._db:
            asked = f"SELECT {', '.join(_COLUMNS)} FROM dirs WHERE path IN "
            for marks, part in in_parts(wanted):
                rows = self._db.query(f"{asked}({marks})", part)
                self._rows.update((row[0], Known._make(row)) for row in rows)


class ScanCache:
    """Rows of `scan-cache.db`. Only who has the lock of the place writes them; whoever deletes objects, which
    takes the store's lock, makes rows forgotten first."""

    def __init__(self, db: DerivedDb | None) -> None:
        self._db = db

    def load(self, top: int) -> KnownDirs:
        """`top` counts the objects ever stored: a cache that has seen more knows another store."""
        if self._db:
            seen = self._db.query("SELECT value FROM facts WHERE key='top'")
            if seen and seen[0][0] > top:
                self.forget_all()
        return KnownDirs(self._db)

    def stats(self, folders: list[bytes]) -> dict[bytes, bytes]:
        """For `decode_stats`, of each directory that the last scan saw."""
        found: dict[bytes, bytes] = {}
        for marks, part in in_parts(folders) if self._db else ():
            assert self._db
            found.update(self._db.query(f"SELECT path, rows FROM stats WHERE path IN ({marks})", part))
        return found

    def update(self, known: dict[bytes, Known], stats: dict[bytes, bytes],
               removed: list[bytes], top: int) -> None:
        if not self._db or not (known or removed):
            return
        subtrees: list[tuple[object, ...]] = [(p, p + b"/", p + b"0") for p in removed]
        gone = "path=? OR (path>=? AND path<?)"  # "0" follows "/" in byte order
        self._db.write([
            (f"DELETE FROM dirs WHERE {gone}", subtrees),
            (f"DELETE FROM stats WHERE {gone}", subtrees),
            ("INSERT OR REPLACE INTO dirs VALUES(?,?,?,?,?,?,?,?,?,?)",
             [(*k, bool(k.marks) or k.out_env != k.env) for k in known.values()]),
            ("INSERT OR REPLACE INTO stats VALUES(?,?)", list(stats.items())),
            _set_top(top),
        ])

    def version(self) -> list[Any]:
        """Another one after every change: the top directory's row is replaced, and gets a new number."""
        asked = "SELECT (SELECT rowid FROM dirs WHERE path=x''), (SELECT value FROM facts WHERE key='top')"
        return self._db.query(asked) if self._db else []

    def dirs_not_in(self, live: set[bytes]) -> list[bytes]:
        """Rows that promise a tree which is about to be deleted."""
        rows = self._db.query("SELECT path, tree FROM dirs") if self._db else []
        return [path for path, tree in rows if tree not in live]

    def forget(self, paths: list[bytes]) -> None:
        """Before objects are deleted: no row may promise a tree that will be gone."""
        if not self._db:
            return
        rows: list[tuple[object, ...]] = [(path,) for path in paths]
        done = self._db.write([("DELETE FROM dirs WHERE path=?", rows),
                               ("DELETE FROM stats WHERE path=?", rows), _set_top(0)])
        if not done:
            self._db.forget_everything()

    def forget_trees_not_in(self, live: set[bytes]) -> None:
        self.forget(self.dirs_not_in(live))

    def forget_all(self) -> None:
        if self._db:
            self._db.write([("DELETE FROM dirs WHERE ?", [(1,)]), ("DELETE FROM stats WHERE ?", [(1,)]),
                            _set_top(0)])


def _set_top(top: int) -> tuple[str, list[tuple[object, ...]]]:
    return "INSERT OR REPLACE INTO facts VALUES('top', ?)", [(top,)]


def encode_stats(rows: list[tuple[Any, ...]], racy: set[bytes]) -> bytes:
    """`rows` as the walk makes them; those of directories are left out."""
    files = [row for row in rows if len(row) == 6]
    packed = [_STAT.pack(*row[1:5], row[5] & 0xFFFF, row[0] in racy) for row in files]
    return _COUNT.pack(len(files)) + b"".join(packed) + b"\0".join(row[0] for row in files)


def decode_stats(blob: bytes) -> dict[bytes, tuple[tuple[int, ...], bool]]:
    """Name -> (size, mtime, ctime, inode, mode), and whether it must be read again."""
    (count,) = _COUNT.unpack_from(blob)
    end = _COUNT.size + count * _STAT.size
    stats = _STAT.iter_unpack(blob[_COUNT.size:end])
    return {name: (stat[:5], bool(stat[5])) for name, stat in zip(blob[end:].split(b"\0"), stats)}
