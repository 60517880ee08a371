"""The scan cache: what the last scan saw in each directory, so that the next scan can skip what has not
changed."""

from __future__ import annotations

import struct
from _operator import itemgetter

from rewind.fast.sqlite import in_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NamedTuple, Protocol

    from rewind.store.derived import DerivedDb

    class Sigs(Protocol):
        def get(self, path: bytes) -> bytes | None: ...
        def __contains__(self, path: object) -> bool: ...

    class Special(Protocol):
        def get(self, path: bytes) -> tuple[bytes, bytes] | None: ...
        def __contains__(self, path: object) -> bool: ...

_STAT = struct.Struct("<QqqQHB")  # size, mtime, ctime, inode, mode, racy
_COUNT = struct.Struct("<I")
_TYPE, _IS_DIR = 0o170000, 0o040000
_MONITOR = "monitor"  # the key of a fact: what the next scan asks a monitor
_COLUMNS = ("path", "env", "sig", "out_env", "tree", "files", "bytes", "uncovered", "marks")


# A row of the scan cache: what the last scan learned about one directory. `env` identifies the rules for its
# entries, and `out_env` those for the directories inside it. `sig` is a digest of its listing, or empty if
# something in it must be read again. `marks` are the directories in it that are not simply walked.
if TYPE_CHECKING:
    class KnownDir(NamedTuple):
        path: bytes
        env: bytes
        sig: bytes
        out_env: bytes
        tree: bytes
        files: int
        size: int
        uncovered: int
        marks: bytes
else:
    class KnownDir(tuple):  # by hand: importing `collections` would take every save longer than all this
        __slots__ = ()
        path, env, sig, out_env, tree, files, size, uncovered, marks = (
            property(itemgetter(at)) for at in range(9))

        def __new__(cls, *fields):
            return tuple.__new__(cls, fields)

        @classmethod
        def _make(cls, fields):
            return tuple.__new__(cls, fields)


class KnownDirs:
    """What the last scan learned. The walk needs little more than a signature for each directory, so only
    that is loaded at once. Whole rows are loaded for what has changed."""

    def __init__(self, db: DerivedDb | None) -> None:
        self._db = db
        self._rows: dict[bytes, KnownDir | None] = {}
        self._all: dict[bytes, bytes] = {}
        self.sigs: Sigs = self._all
        self.special: Special = {}  # those with ignore files or marks
        if db:
            self.sigs = self._all = dict(db.query("SELECT path, sig FROM dirs"))
            self.special = {path: (out_env, marks) for path, out_env, marks in db.query(
                "SELECT path, out_env, marks FROM dirs WHERE special")}

    def get(self, path: bytes) -> KnownDir | None:
        if path not in self.sigs:
            return None
        if path not in self._rows:
            self.fetch([path])
        return self._rows[path]

    def paths(self) -> Iterable[bytes]:
        """Of all directories."""
        return self._all

    def fetch(self, paths: Iterable[bytes]) -> None:
        """Load many rows at once. A query for each would take longer than reading what has changed."""
        self._load([path for path in paths if path in self.sigs and path not in self._rows])

    def _load(self, wanted: list[bytes]) -> None:
        self._rows.update(dict.fromkeys(wanted))
        if self._db:
            asked = f"SELECT {', '.join(_COLUMNS)} FROM dirs WHERE path IN "
            for marks, part in in_parts(wanted):
                rows = self._db.query(f"{asked}({marks})", part)
                self._rows.update((row[0], KnownDir._make(row)) for row in rows)


class ScanCache:
    """Rows of `scan-cache.db`. They are written only with the lock of the place. Whoever deletes objects,
    which needs the lock of the store, deletes the rows that refer to them first."""

    def __init__(self, db: DerivedDb | None) -> None:
        self._db = db

    def load(self, top: int) -> KnownDirs:
        """`top` counts the objects that were ever stored. A cache that has seen more belongs to another
        store."""
        self._check_top(top)
        return KnownDirs(self._db)

    def database(self, top: int) -> DerivedDb | None:
        """The same for callers that need few rows (`watchman/known.py`)."""
        self._check_top(top)
        return self._db

    def _check_top(self, top: int) -> None:
        if self._db:
            seen = self._db.query("SELECT value FROM facts WHERE key='top'")
            if seen and seen[0][0] > top:
                self.forget_all()

    def files(self) -> int:
        """How many files the last scan saw; 0 if there was no scan."""
        rows = self._db.query("SELECT files FROM dirs WHERE path=x''") if self._db else []
        return rows[0][0] if rows else 0

    def monitored(self) -> str:
        """What the last scan left for the next one to ask a monitor; empty if nothing."""
        rows = self._db.query("SELECT value FROM facts WHERE key=?", (_MONITOR,)) if self._db else []
        return rows[0][0] if rows and isinstance(rows[0][0], str) else ""

    def unsettled(self) -> list[bytes]:
        """The directories that must be looked at again in any case. The top one is always among them. The
        list is empty if the query failed."""
        if not self._db:
            return []
        self._db.query("CREATE INDEX IF NOT EXISTS unsettled ON dirs (path) WHERE sig=x''")
        return [row[0] for row in self._db.query(
            "SELECT path FROM dirs WHERE sig=x'' UNION SELECT path FROM dirs WHERE path=x''")]

    def stats(self, folders: list[bytes]) -> dict[bytes, bytes]:
        """What the last scan saw in these directories, for `decode_stats`."""
        found: dict[bytes, bytes] = {}
        for marks, part in in_parts(folders) if self._db else ():
            assert self._db
            found.update(self._db.query(f"SELECT path, rows FROM stats WHERE path IN ({marks})", part))
        return found

    def update(self, known: dict[bytes, KnownDir], stats: dict[bytes, bytes],
               removed: list[bytes], top: int, monitored: str | None = None) -> None:
        """`monitored` is what the next scan asks a monitor. None comes from a scan without a monitor. The
        next one then starts again, because nobody noticed which directories changed places."""
        if not self._db or not (known or removed or monitored is not None):
            return
        subtrees: list[tuple[object, ...]] = [(p, p + b"/", p + b"0") for p in removed]
        gone = "path=? OR (path>=? AND path<?)"  # "0" comes after "/" in byte order
        self._db.write([
            (f"DELETE FROM dirs WHERE {gone}", subtrees),
            (f"DELETE FROM stats WHERE {gone}", subtrees),
            ("INSERT OR REPLACE INTO dirs VALUES(?,?,?,?,?,?,?,?,?,?)",
             [(*k, bool(k.marks) or k.out_env != k.env) for k in known.values()]),
            ("INSERT OR REPLACE INTO stats VALUES(?,?)", list(stats.items())),
            _set_top(top),
            _no_monitor() if monitored is None
            else ("INSERT OR REPLACE INTO facts VALUES(?, ?)", [(_MONITOR, monitored)]),
        ])

    def version(self) -> list[Any]:
        """A value that changes with every update: the row of the top directory is replaced and gets a new
        number."""
        asked = "SELECT (SELECT rowid FROM dirs WHERE path=x''), (SELECT value FROM facts WHERE key='top')"
        return self._db.query(asked) if self._db else []

    def dirs_not_in(self, live: set[bytes]) -> list[bytes]:
        """The directories whose tree is about to be deleted."""
        rows = self._db.query("SELECT path, tree FROM dirs") if self._db else []
        return [path for path, tree in rows if tree not in live]

    def forget(self, paths: list[bytes]) -> None:
        """Call this before objects are deleted: no row may promise a tree that does not exist."""
        if not self._db:
            return
        rows: list[tuple[object, ...]] = [(path,) for path in paths]
        done = self._db.write([("DELETE FROM dirs WHERE path=?", rows), *([_no_monitor()] if rows else []),
                               ("DELETE FROM stats WHERE path=?", rows), _set_top(0)])
        if not done:
            self._db.forget_everything()

    def forget_all(self) -> None:
        if self._db:
            self._db.write([("DELETE FROM dirs WHERE ?", [(1,)]), ("DELETE FROM stats WHERE ?", [(1,)]),
                            _no_monitor(), _set_top(0)])


def _set_top(top: int) -> tuple[str, list[tuple[object, ...]]]:
    return "INSERT OR REPLACE INTO facts VALUES('top', ?)", [(top,)]


def _no_monitor() -> tuple[str, list[tuple[object, ...]]]:
    """Rows that were deleted must be made again, and only a whole walk does that."""
    return "DELETE FROM facts WHERE key=?", [(_MONITOR,)]


def encode_stats(rows: list[tuple[Any, ...]], racy: set[bytes]) -> bytes:
    """`rows` come from the walk. A directory has no size, and the time when it was moved instead of the
    others."""
    kept = [row for row in rows if len(row) != 3]  # the `.git` of a nested repository is not walked
    packed = [_STAT.pack(*row[1:5], row[5] & 0xFFFF, row[0] in racy) if len(row) == 6
              else _STAT.pack(0, row[3], 0, row[2], row[1] & 0xFFFF, 0) for row in kept]
    return _COUNT.pack(len(kept)) + b"".join(packed) + b"\0".join(row[0] for row in kept)


def decode_stats(blob: bytes) -> dict[bytes, tuple[tuple[int, ...], bool]]:
    """Name -> (size, mtime, ctime, inode, mode), and whether it must be read again."""
    (count,) = _COUNT.unpack_from(blob)
    end = _COUNT.size + count * _STAT.size
    stats = _STAT.iter_unpack(blob[_COUNT.size:end])
    return {name: (stat[:5], bool(stat[5])) for name, stat in zip(blob[end:].split(b"\0"), stats)}


def decode_folders(blob: bytes) -> dict[bytes, tuple[int, ...]]:
    """Only for directories: name -> (inode, when it was moved, mode)."""
    (count,) = _COUNT.unpack_from(blob)
    end = _COUNT.size + count * _STAT.size
    stats = list(_STAT.iter_unpack(blob[_COUNT.size:end]))
    if not any(stat[4] & _TYPE == _IS_DIR for stat in stats):
        return {}
    return {name: (stat[3], stat[1], stat[4]) for name, stat in zip(blob[end:].split(b"\0"), stats)
            if stat[4] & _TYPE == _IS_DIR}
