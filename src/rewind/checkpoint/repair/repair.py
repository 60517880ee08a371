"""`validate --deep --repair`: finds damage and brings back what has another copy.

Nothing is deleted: what is replaced or removed is in `quarantine/` afterwards. With `dry_run`, the search is
the same and nothing changes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from rewind.checkpoint.repair import rescue
from rewind.checkpoint.repair.archives import repair_archives
from rewind.checkpoint.repair.check_records import GARBAGE, Examined, Problem, examine_records, rotten_rows
from rewind.checkpoint.repair.files import repair_own_files, repair_records
from rewind.checkpoint.repair.quarantine import Quarantine
from rewind.checkpoint.repair.rescue_conversation import from_transcripts
from rewind.checkpoint.repair.validate import examine
from rewind.errors import FormatTooNew, RewindError, StoreUnavailable
from rewind.files import fsync_dir
from rewind.snapshot.trees.tree import MAX_DEPTH
from rewind.store.blobs import oid_of, pack
from rewind.store.objects import ObjectStore, remove_database
from rewind.store.salvage import salvage

if TYPE_CHECKING:
    from rewind.checkpoint.project.damage import MissingContent
    from rewind.checkpoint.project.state import State
    from rewind.snapshot.scan.build import Progress


class Repaired:
    """What was wrong, what was brought back and from where, and what each checkpoint still lacks."""

    def __init__(self, found: Examined) -> None:
        self.problems: list[Problem] = found.problems
        self.affected: dict[str, MissingContent] = found.affected
        self.rescued: list[tuple[str, str]] = []
        self.lost: dict[str, MissingContent] = {}
        self.missing: set[bytes] = set()  # objects
        self.remaining: list[Problem] = []  # problems that a second look still found
        self.quarantined: list[str] = []

    @property
    def complete(self) -> bool:
        return not self.lost and not self.remaining


def repair(state: State, *, dry_run: bool, copies: list[str], progress: Progress | None = None) -> Repaired:
    """The caller holds the lock, unless it is a dry run. `copies` are exported checkpoints."""
    found = examine(state, deep=True, progress=progress)
    result = Repaired(found)
    if found.problems:
        _Repair(state, result, dry_run, copies, progress).run()
    if not dry_run:
        _mark(state, result.lost, result.missing)
        result.remaining = [p for p in examine(state, deep=False).problems
                            if p.checkpoint not in result.lost]
    return result


def note_damage(state: State, found: Examined) -> None:
    """After a check without a repair: remember the damaged objects, so that the next checkpoint stores those
    that it finds in the project again."""
    if not found.unusable:
        _mark(state, found.affected, _needed(found))


def _needed(found: Examined) -> set[bytes]:
    return {oid for oid, what in found.bad.items() if what != GARBAGE}


def _mark(state: State, lost: dict[str, MissingContent], gone: set[bytes]) -> None:
    damage = state.damage()
    if damage.objects == gone and damage.checkpoints.keys() == lost.keys():
        return
    damage.objects, damage.checkpoints = gone, dict(lost)
    damage.save()
    if gone:
        state.forget_derived()
    state.close()


class _Repair:
    def __init__(self, state: State, result: Repaired, dry_run: bool, copies: list[str],
                 progress: Progress | None) -> None:
        self.state = state
        self.result = result
        self.dry_run = dry_run
        self.copies = copies
        self.progress = progress
        self.quarantine = Quarantine(state, dry_run=dry_run)
        self.wanted: dict[bytes, str] = {}

    def run(self) -> None:
        rescued = self.result.rescued
        rescued += repair_own_files(self.state, self.quarantine, self.dry_run)
        done, self.records = repair_records(self.state, self.quarantine, self.dry_run)
        rescued += done
        rescued += repair_archives(self.state, self.records, self.quarantine, self.copies, self.dry_run)
        self.found = ObjectStore(self.state.project.path(f"temporary-{os.getpid()}-found.db"), create=True)
        self.salvaged: ObjectStore | None = None
        try:
            self._objects()
        finally:
            for store in (self.found, self.salvaged):
                if store:
                    store.close()
                    remove_database(store.path)
        self.result.quarantined = self.quarantine.names
        if not self.dry_run:
            self.state.forget_derived()
            self.state.close()

    # objects

    def _objects(self) -> None:
        main = self._usable_store()
        if main is None:
            return
        rotten = {oid: packed for oid, packed, _ in rotten_rows(main) if isinstance(oid, bytes)}
        both = _FoundOrStored(self.found, main, set(rotten))
        hopeless: set[bytes] = set()
        for _ in range(MAX_DEPTH + 2):  # a directory that comes back may name others that are lost
            found = Examined()
            left = {oid: "it is damaged" for oid in rotten if not self.found.has(oid)}
            examine_records(self.state, self.records, found, both, deep=True, rotten=left)
            self.wanted = {oid: what for oid, what in found.bad.items()
                           if what != GARBAGE and oid not in hopeless}
            if not self.wanted:
                break
            self._search(both)
            hopeless |= self.wanted.keys()
        self.result.lost, self.result.missing = found.affected, _needed(found)
        self.result.affected.update(
            {name: missing for name, missing in found.affected.items() if name not in self.result.affected})
        if not self.dry_run:
            self._apply(main, rotten)

    def _usable_store(self) -> ObjectStore | None:
        """The store, or a new one with what was salvaged. None if the store is newer or unavailable."""
        try:
            store = self.state.objects
            if not store.check():
                return store
        except (FormatTooNew, StoreUnavailable):
            return None
        except RewindError:
            pass
        self.state.close()
        target = self.state.project.path(f"temporary-{os.getpid()}-salvaged.db")
        path = self.state.project.path("objects.db")
        self.salvaged = salvage(path, target, self.progress)
        self.result.rescued.append((f"{self.salvaged.count():,} objects", f"out of the damaged {path}"))
        return self.salvaged

    def _search(self, both: _FoundOrStored) -> None:
        rescue.from_old_pages(self.state, self.wanted, self._keep)
        if self.wanted:
            from_transcripts(self.state, self.records, both, self.wanted, self._keep)
        if self.wanted:
            rescue.from_project(self.state, self.wanted, self._keep, self.progress)
        if self.wanted:
            rescue.from_archives(self.state, self.records, self.copies, self.wanted, self._keep)

    def _keep(self, oid: bytes, data: bytes, where: str) -> bool:
        what = self.wanted.pop(oid, None)
        if what is None or oid_of(data) != oid:
            return False
        self.found.put_packed(oid, pack(data))
        self.result.rescued.append((f"{what} {oid.hex()[:12]}", where))
        return True

    # writing

    def _apply(self, main: ObjectStore, rotten: dict[bytes, bytes]) -> None:
        self.found.commit()
        main.lost = set(rotten)  # so that what was found replaces the damaged rows
        for oid, packed in self.found.rows():
            main.put_packed(oid, packed)
        gone = [oid for oid in rotten if not self.found.has(oid)]
        for oid in gone:
            data = rotten[oid]  # after damage it may be a text or a number
            raw = data if isinstance(data, bytes) else str(data).encode()
            self.quarantine.put(f"objects/{oid.hex()}", raw)
        main.commit()
        main.delete(gone)
        if self.salvaged:
            self._exchange(self.salvaged)

    def _exchange(self, store: ObjectStore) -> None:
        """Replace the damaged database. Its WAL must not be applied to the new one."""
        path, new = self.state.project.path("objects.db"), store.path
        store.close()
        self.salvaged = None
        for suffix in ("", "-wal", "-journal"):
            if os.path.lexists(path + suffix):
                self.quarantine.keep_copy(path + suffix)
        for suffix in ("-wal", "-shm", "-journal"):
            if os.path.lexists(path + suffix):
                os.unlink(path + suffix)
        fd = os.open(new, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(new, path)
        fsync_dir(self.state.project.state)


class _FoundOrStored(NamedTuple):
    """The objects that were found, and the store without its damaged objects."""

    found: ObjectStore
    main: ObjectStore
    rotten: set[bytes]

    def has(self, oid: bytes) -> bool:
        return self.found.has(oid) or (oid not in self.rotten and self.main.has(oid))

    def get(self, oid: bytes) -> bytes:
        return self.found.get(oid) if self.found.has(oid) else self.main.get(oid)
