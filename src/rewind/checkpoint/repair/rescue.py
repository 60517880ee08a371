"""Finds other copies of lost objects: on old pages of the store, in archives, in the project as it is now."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from rewind.checkpoint.records.record import ARCHIVE, Record
from rewind.errors import RewindError
from rewind.snapshot.archive.portable import read_snapshot
from rewind.snapshot.scan.cache import ScanCache
from rewind.snapshot.scan.scan import scan
from rewind.store.blobs import oid_of, unpack, unpack_if_whole
from rewind.store.bundles import member
from rewind.store.carve import carve
from rewind.store.salvage import members_in

if TYPE_CHECKING:
    from rewind.checkpoint.project.state import State
    from rewind.snapshot.scan.build import Progress
    from rewind.store.salvage import Bundled

    # Takes (id, content, where it was found). False if it is not wanted.
    Keep = Callable[[bytes, bytes, str], bool]


class RescueSink:
    """Takes the place of a store while something is captured or unpacked, and keeps only what is wanted."""

    in_bulk = False
    added = 0

    def __init__(self, wanted: dict[bytes, str], keep: Keep, where: str) -> None:
        self._wanted = wanted
        self._keep = keep
        self._where = where

    def has(self, oid: bytes) -> bool:
        return oid not in self._wanted

    def get(self, oid: bytes) -> bytes:
        raise RewindError("nothing is stored here")

    def get_many(self, oids: Iterable[bytes]) -> tuple[()]:
        return ()

    def put_packed(self, oid: bytes, packed: bytes) -> None:
        self._keep(oid, unpack(oid, packed), self._where)

    def find_existing(self, oids: Iterable[bytes]) -> set[bytes]:
        return {oid for oid in oids if self.has(oid)}

    def top(self) -> int:
        return 0

    def begin_bulk(self) -> None:
        return

    def end_bulk(self) -> None:
        return


def from_old_pages(state: State, wanted: dict[bytes, str], keep: Keep) -> None:
    """Rows on pages that SQLite has freed or cannot reach."""
    path = state.project.path("objects.db")
    bundled: Bundled = {}
    for finder in (carve(path), members_in(path, bundled)):
        for oid, packed in finder:
            found = member(packed) if oid in wanted else None
            if found:
                bundled.setdefault(found.bundle, []).append((oid, found))
            data = unpack_if_whole(oid, packed) if oid in wanted else None
            if data is not None:
                keep(oid, data, "from another place in the store")


def from_archives(state: State, records: list[Record], copies: list[str], wanted: dict[bytes, str],
                  keep: Keep) -> None:
    """Checkpoints in format `archive`, and files that were exported."""
    paths = [state.files.path(record.name, ARCHIVE) for record in records if record.format == "archive"]
    for path in [*copies, *paths]:
        if wanted:
            _unpack(path, wanted, keep)


def _unpack(path: str, wanted: dict[bytes, str], keep: Keep) -> None:
    sink: Any = RescueSink(wanted, keep, f"from {os.path.basename(path)}")
    try:
        found = read_snapshot(path, sink, allow_links_out=True, max_bytes=1 << 50)
        if oid_of(found.rules) in wanted:
            keep(oid_of(found.rules), found.rules, f"from {os.path.basename(path)}")
    except (RewindError, OSError):
        return  # what was taken before the error is right: its hash was checked


def from_project(state: State, wanted: dict[bytes, str], keep: Keep, progress: Progress | None) -> None:
    """Files, pieces and directories that are in the project unchanged."""
    sink: Any = RescueSink(wanted, keep, "from the project")
    try:
        rules = state.rules()
        scan(state.root, rules, ScanCache(None), sink, keep=True, progress=progress)
    except (RewindError, OSError):
        return
    blob = rules.to_json()
    if oid_of(blob) in wanted:
        keep(oid_of(blob), blob, "from the rules in force now")
