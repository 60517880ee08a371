"""Rows of the scan cache, each loaded when it is needed. If little changed, most are never needed."""

from __future__ import annotations

from rewind.snapshot.scan.cache import KnownDirs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from rewind.snapshot.scan.cache import KnownDir, ScanCache
    from rewind.store.derived import DerivedDb


def load_on_demand(cache: ScanCache, top: int) -> KnownDirs:
    """Like `ScanCache.load`."""
    db = cache.database(top)
    return KnownOnDemand(db) if db else KnownDirs(None)


class KnownOnDemand(KnownDirs):
    def __init__(self, db: DerivedDb) -> None:
        super().__init__(None)
        self._db = db
        self.sigs = _Sigs(self)
        self.special = _Special(self)

    def get(self, path: bytes) -> KnownDir | None:
        if path not in self._rows:
            self.fetch([path])
        return self._rows[path]

    def fetch(self, paths: Iterable[bytes]) -> None:
        self._load([path for path in paths if path not in self._rows])


class _Sigs:
    def __init__(self, known: KnownOnDemand) -> None:
        self._known = known

    def get(self, path: bytes) -> bytes | None:
        row = self._known.get(path)
        return row.sig if row else None

    def __contains__(self, path: object) -> bool:
        return isinstance(path, bytes) and self._known.get(path) is not None


class _Special:
    def __init__(self, known: KnownOnDemand) -> None:
        self._known = known

    def get(self, path: bytes) -> tuple[bytes, bytes] | None:
        row = self._known.get(path)
        return (row.out_env, row.marks) if row and (row.marks or row.out_env != row.env) else None

    def __contains__(self, path: object) -> bool:
        return isinstance(path, bytes) and self.get(path) is not None
