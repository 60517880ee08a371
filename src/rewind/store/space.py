"""Keeps the store's file small: writes the WAL back and returns free pages to the disk."""

from __future__ import annotations

from rewind.store.objects import ObjectStore


def begin_upkeep(store: ObjectStore) -> None:
    """Work that only reorganises need not be durable at once: after a power failure the WAL has all of a
    transaction or nothing. `write_back` writes the pages back, so that a commit need not."""
    if store.is_wal():
        store.run("PRAGMA synchronous=NORMAL")
        store.folds = False


def write_back(store: ObjectStore) -> None:
    """Copy pages from the WAL to the database while others read and write. Needs no lock."""
    if store.is_wal():
        store.run("PRAGMA wal_checkpoint(PASSIVE)")


def end_upkeep(store: ObjectStore) -> None:
    store.run("PRAGMA synchronous=FULL")
    store.folds = True


def free_pages(store: ObjectStore) -> int:
    return int(store.pragma("freelist_count"))


def shrink(store: ObjectStore, pages: int) -> None:
    """Return this many free pages to the disk; 0 means all of them."""
    store.run_script(f"PRAGMA incremental_vacuum({pages})")
