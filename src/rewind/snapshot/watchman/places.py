"""Finds directories that have changed places, because Watchman may have mixed them up (see
docs/watchman.md)."""

from __future__ import annotations

from rewind.snapshot.scan.cache import decode_folders
from rewind.snapshot.scan.walk import NOT_WALKED, is_dir_row, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from rewind.snapshot.scan.cache import KnownDirs, ScanCache
    from rewind.snapshot.scan.walk import Listing

_MANY = 1000  # directories to ask about at once


def have_moved_directories(cache: ScanCache, known: KnownDirs, changed: dict[bytes, Listing]) -> bool:
    """Whether a directory is in the place of another one, or was moved away and back, or several were moved.
    `known` and the cache are from the last scan. `changed` are all directories that differ
    now."""
    if b"" not in known.sigs:
        return False
    places = _Places(cache)
    folders = sorted(changed)  # each after the one above it
    places.fetch(folders)
    return any(places.have_changed_places(changed[folder], known) for folder in folders) or places.moved > 1


class _Places:
    def __init__(self, cache: ScanCache) -> None:
        self._cache = cache
        self._seen: dict[bytes, dict[bytes, tuple[int, ...]]] = {}  # what was in each directory
        self._paths: dict[int, bytes] = {}  # where each inode was
        self._origin: dict[bytes, bytes] = {}  # where a directory was, if elsewhere
        self.moved = 0

    def fetch(self, folders: list[bytes]) -> None:
        for at in range(0, len(folders), _MANY):
            for folder, blob in self._cache.stats(folders[at:at + _MANY]).items():
                self._seen[folder] = seen = decode_folders(blob)
                self._paths.update((inode, join(folder, name)) for name, (inode, _, _) in seen.items())

    def have_changed_places(self, listing: Listing, known: KnownDirs) -> bool:
        origin = self._origin.get(listing.folder, listing.folder)
        if origin not in self._seen:
            self.fetch([origin])
        seen = self._seen.get(origin, {})
        for name, mode, inode, moved in _folders_of(listing):
            path, before = join(listing.folder, name), seen.get(name)
            if before:
                if inode != before[0] or (moved not in (0, before[1]) and mode & 0xFFFF == before[2]):
                    return True
                if origin != listing.folder:
                    self._origin[path] = join(origin, name)
            elif inode in self._paths:
                self._origin[path] = self._paths[inode]
                self.moved += 1
            elif path in known.sigs:  # an earlier version noted only files
                return True
        return False


def _folders_of(listing: Listing) -> Iterator[tuple[Any, ...]]:
    """The rows of directories that are walked, without the `.git` of a nested repository."""
    for row, verdict in zip(listing.rows, listing.verdicts):
        if is_dir_row(row) and len(row) == 4 and verdict not in NOT_WALKED:
            yield row
