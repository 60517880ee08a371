"""The store's file kept small: the WAL written back, free pages given to the disk."""

from __future__ import annotations

from rewind.store.objects import ObjectStore


def begin_upkeep(store: ObjectStore) -> None:
    """What only reorganises may be lost with the power, as long as it is lost as a whole: the WAL sees
    to that. And its pages are written back by `write_back`, not by whoever commits."""
    if store.is_wal():
        store.run("PRAGMA synchronous=NORMAL")
        store.folds = False


def write_back(store: ObjectStore) -> None:
    """Pages from the WAL to the database, beside whoever reads and writes. Needs no lock of ours."""
    if store.is_wal():
        store.run("PRAGMA wal_checkpoint(PASSIVE)")


def end_upkeep(store: ObjectStore) -> None:
    store.run("PRAGMA synchronous=FULL")
    store.folds = True


def free_pages(store: ObjectStore) -> int:
    return int(store.pragma("freelist_count"))


def shrink(store: ObjectStore, pages: int) -> None:
    """By so many free pages; 0 is all of them."""
    store.run_script(f"PRAGMA incremental_vacuum({pages})")
