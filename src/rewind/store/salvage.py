"""Makes a new object database from a damaged one, with every object that is still whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rewind.store.blobs import is_loose, pack, unpack_if_whole
from rewind.store.bundles import content_of, member
from rewind.store.carve import carve
from rewind.store.objects import ObjectStore

if TYPE_CHECKING:
    from rewind.store.bundles import Member

    Bundled = dict[bytes, list[tuple[bytes, Member]]]  # by the id of the bundle
    Progress = Callable[[str, int, int], None]


def salvage(path: str, target: str, progress: Progress | None = None) -> ObjectStore:
    """Rows are found without SQLite, so a damaged page costs only the rows on it, not those it points to."""
    store = ObjectStore(target, create=True)
    loose = False
    bundled: Bundled = {}
    for number, (oid, packed) in enumerate(carve(path)):
        if progress:
            progress("Looking for objects", number, 0)
        if store.has(oid):
            continue
        found = member(packed)
        if found:
            bundled.setdefault(found.bundle, []).append((oid, found))
        elif unpack_if_whole(oid, packed) is not None:  # bundles as well: they are rows like others
            store.put_packed(oid, packed)
            loose = loose or is_loose(packed)
    store.commit()
    _put_members(store, path, bundled)
    if loose:
        store.set_meta("loose", 0)
    return store


def _put_members(store: ObjectStore, path: str, bundled: Bundled) -> None:
    """Each member becomes a row of its own."""
    for oid, packed in members_in(path, bundled):
        data = unpack_if_whole(oid, packed)
        if data is not None and not store.has(oid):
            store.put_packed(oid, pack(data))
    store.commit()
    store.delete(store.find_existing(bundled))


def members_in(path: str, bundled: Bundled) -> Iterator[tuple[bytes, bytes]]:
    """(id, packed content) of the members whose bundles can be found; not verified."""
    for bundle, packed in carve(path) if bundled else ():
        content = content_of(packed) if bundle in bundled else None
        for oid, found in bundled[bundle] if content else ():
            yield oid, found.packed(content or b"")
