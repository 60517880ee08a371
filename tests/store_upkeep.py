"""Maintains a store in one step. The program does the same in small pieces."""

from __future__ import annotations

from rewind.store.objects import ObjectStore
from rewind.store.packing import next_loose, replace_loose
from rewind.store.space import shrink


def pack_loose(store: ObjectStore) -> bool:
    """Compress one batch of objects that were stored uncompressed. False if there are no more."""
    found = next_loose(store, 8 << 20)
    if found is not None:
        replace_loose(store, found)
    return found is not None and found.more


def shrink_file(store: ObjectStore) -> None:
    """Give the free space of the file back to the file system."""
    shrink(store, 0)
    store.run("PRAGMA wal_checkpoint(TRUNCATE)")
