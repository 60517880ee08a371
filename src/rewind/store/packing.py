"""Compresses objects that a large capture stored loosely, and puts small objects together in bundles.

The work is done in pieces. Only writing a piece needs the project's lock.
"""

from __future__ import annotations

from rewind.store.blobs import is_loose, loose, unpack_if_whole
from rewind.store.bundles import SCHEMA, BundleBuilder, sparse_bundles
from rewind.store.objects import WITH_BUNDLES, ObjectStore


class Loose:
    """One piece: objects with numbers over `after`, up to `upto`, compressed. `end` is the last number of all
    pieces."""

    def __init__(self, after: int, end: int) -> None:
        self.made = BundleBuilder()
        self.after = after
        self.end = end
        self.upto = after
        self.more = False


def next_loose(store: ObjectStore, most: int) -> Loose | None:
    """The next loose objects, compressed but not written, because compressing takes long. None if there are
    no more."""
    marks = _loose_marks(store)
    if "loose" not in marks:
        return None
    end = marks.get("loose-end") or store.top()
    found = Loose(marks["loose"], end)
    rows = store.run("SELECT n, id, length(data), substr(data, 1, 1) FROM objects WHERE n>? AND n<=?"
                     " ORDER BY n LIMIT 4096", (found.after, end))
    done, made = 0, found.made
    for n, oid, size, codec in rows:
        if is_loose(codec):
            _gather(store, made, n, oid)
            done += size
        found.upto, found.more = n, True
        if done > most and (made.is_between or done > 2 * most):
            break
    made.close()
    return found


def _gather(store: ObjectStore, made: BundleBuilder, n: int, oid: bytes) -> None:
    # Checked before the only copy is replaced: `unpacked` raises if it is damaged.
    rows = store.run("SELECT data FROM objects WHERE n=?", (n,))
    if rows:
        made.add(n, oid, store.unpacked(oid, rows[0][0]))


def replace_loose(store: ObjectStore, found: Loose) -> None:
    marks = _loose_marks(store)
    if marks.get("loose") != found.after:
        return  # another process did the same and was first
    store.begin()
    store.run("INSERT OR REPLACE INTO meta VALUES('loose-end', ?)", (found.end,))
    _replace_rows(store, found.made)
    if found.more:
        store.run("UPDATE meta SET value=? WHERE key='loose'", (found.upto,))
    else:
        store.run("DELETE FROM meta WHERE key IN ('loose', 'loose-end')")
        store.run("UPDATE meta SET key='loose' WHERE key='loose-next'")
    store.commit()


def next_singles(store: ObjectStore, after: int, most: int) -> Loose | None:
    """Small objects over a number that saves stored one by one: as many as fill bundles, compressed but not
    written. Versions of a file that follow each other shrink to their differences."""
    found = Loose(after, 0)
    rows = store.run("SELECT n, id FROM objects WHERE n>? AND length(data) BETWEEN 65 AND 32768"
                     " AND substr(data, 1, 1) IN (x'00', x'01') AND substr(data, 2, 6)!=x'747265653120'"
                     " ORDER BY n LIMIT 4096", (after,))
    for n, oid in rows:
        _gather_single(store, found.made, n, oid)
        if found.made.is_between:
            found.upto = n
            if sum(len(bundle) for _, bundle in found.made.bundles) > most:
                break
    if not found.made.rows:
        return None  # what is left does not fill a bundle
    return found


def _gather_single(store: ObjectStore, made: BundleBuilder, n: int, oid: bytes) -> None:
    rows = store.run("SELECT data FROM objects WHERE n=?", (n,))
    data = unpack_if_whole(oid, rows[0][0]) if rows else None
    if data is not None:
        made.add_small(n, oid, data)


def replace_singles(store: ObjectStore, found: Loose) -> None:
    store.begin()
    _replace_rows(store, found.made)
    store.commit()


def _replace_rows(store: ObjectStore, made: BundleBuilder) -> None:
    _add_bundles(store, made.bundles)
    for n, oid, packed in made.rows:
        # As a new row at the end, because rows that shrink in place leave their pages half empty. An object
        # that was collected or stored anew in the meantime does not have this number any more.
        if store.run("SELECT 1 FROM objects WHERE n=? AND id=?", (n, oid)):
            store.run("DELETE FROM objects WHERE n=?", (n,))
            store.run("INSERT INTO objects(id, data) VALUES(?, ?)", (oid, packed))


def _add_bundles(store: ObjectStore, bundles: list[tuple[bytes, bytes]]) -> None:
    if bundles and not store.has_bundles():
        # In the transaction of the first bundle. From here on older programs refuse the store.
        store.run(SCHEMA)
        store.run(f"PRAGMA user_version={WITH_BUNDLES}")
    for bundle, packed in bundles:  # replaces one of the same id, which may be damaged
        store.run("INSERT OR REPLACE INTO bundles(id, data) VALUES(?, ?)", (bundle, packed))


def find_sparse_bundles(store: ObjectStore) -> list[tuple[bytes, list[bytes]]]:
    """Bundles of which less than half is needed, each with the members that are."""
    if not store.has_bundles():
        return []
    return sparse_bundles(store.bundled_rows(), [bundle for (bundle,) in store.run("SELECT id FROM bundles")])


def unbundle(store: ObjectStore, bundle: bytes, oids: list[bytes]) -> None:
    """Make the members of a bundle loose, to be packed with others, and delete the bundle. If a member is
    damaged, nothing changes. No other process may be packing, because it could need the bundle."""
    found = store.find_existing(oids)
    members = [(oid, data) for oid in found
               if (data := unpack_if_whole(oid, store.packed(oid))) is not None]
    if len(members) < len(found):
        return
    store.begin()
    if members:
        store.mark_loose()
    for oid, data in members:
        store.run("DELETE FROM objects WHERE id=?", (oid,))
        store.run("INSERT INTO objects(id, data) VALUES(?, ?)", (oid, loose(data)))
    store.run("DELETE FROM bundles WHERE id=?", (bundle,))
    store.commit()


def _loose_marks(store: ObjectStore) -> dict[str, int]:
    return dict(store.run("SELECT key, value FROM meta WHERE key IN ('loose', 'loose-end')"))
