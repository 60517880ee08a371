"""The store's upkeep in one go, as tests want it; the program does it in pieces."""

from __future__ import annotations

from rewind.store.objects import ObjectStore
from rewind.store.packing import next_loose, replace_loose
from rewind.store.space import shrink


def pack_loose(store: ObjectStore) -> bool:
    """Compress one batch of what was stored in a hurry; False when there is no more."""
    found = next_loose(store, 8 << 20)
    if found is not None:
        replace_loose(store, found)
    return found is not None and found.more


def give_back_space(store: ObjectStore) -> None:
    """Shrink the file on disk."""
    shrink(store, 0)
    store.run("PRAGMA wal_checkpoint(TRUNCATE)")
