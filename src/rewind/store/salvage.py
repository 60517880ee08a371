"""A new object database out of a damaged one, with every object that is still whole."""

from __future__ import annotations

from rewind.store import sqlite
from rewind.store.blobs import Unreadable, is_loose, unpack
from rewind.store.carve import carve
from rewind.store.objects import ObjectStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Progress = Callable[[str, int, int], None]


def salvage(path: str, target: str, progress: Progress | None = None) -> ObjectStore:
    """Rows are found without SQLite, so a damaged page costs what it holds, and not what it points at."""
    store = ObjectStore(target, create=True)
    loose = False
    for number, (oid, packed) in enumerate(carve(path)):
        if progress:
            progress("Looking for objects", number, 0)
        if store.has(oid):
            continue
        if _is_whole(oid, packed):
            store.put_packed(oid, packed)
            loose = loose or is_loose(packed)
    store.commit()
    if loose:
        store.set_meta("loose", 0)
    name = _last_deleted(path)
    if name:
        store.note_deleted(name)
    return store


def _is_whole(oid: bytes, packed: bytes) -> bool:
    try:
        unpack(oid, packed)
    except Unreadable:
        return False
    return True


def _last_deleted(path: str) -> str:
    try:
        db = sqlite.connect(path, isolation_level=None)
    except sqlite.DatabaseError:
        return ""
    try:
        rows = db.execute("SELECT value FROM meta WHERE key='last-deleted'").fetchall()
        return str(rows[0][0]) if rows else ""
    except sqlite.DatabaseError:
        return ""
    finally:
        db.close()
