"""Deleting checkpoints, and all objects that no other checkpoint needs. `retention` decides which ones.

Other processes save and restore meanwhile: finding out what is needed takes no lock, and deleting takes it
for a moment at a time. Each time the lock is taken, new checkpoints and operations are looked at first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rewind.checkpoint.operation_log.lineage import lineage
from rewind.checkpoint.operation_log.operations import FILE as OPERATIONS
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.upkeep.disk_use import disk_use
from rewind.checkpoint.upkeep.due import note_collection
from rewind.checkpoint.upkeep.pieces import Piece, give_back_space, take_bundles_apart, wait_for_others
from rewind.checkpoint.upkeep.retention import (
    UNKNOWN,
    backups_in_use,
    choose,
    mark,
    needed_because,
    never_collected,
    reparent_children,
    sweep_kept_conversations,
)
from rewind.errors import StoreDamaged
from rewind.files import fsync_dir
from rewind.lock import Lock
from rewind.store.space import begin_upkeep, end_upkeep, write_back

if TYPE_CHECKING:
    from rewind.snapshot.scan.build import Progress

GC_LOCK = "gc.lock"
_ROWS = 500  # rows of the scan cache that are deleted at a time
_AT_ONCE = 100  # objects that are deleted before the next look at the clock


class Collected:
    def __init__(self) -> None:
        self.deleted: list[str] = []
        self.freed = 0


def collect(state: State, keep: int | None, wait: float, progress: Progress | None = None) -> Collected:
    # Two collections at once would delete what the other one is looking at.
    with Lock(state.project.path(GC_LOCK), "gc", wait):
        return _Collection(state, keep, wait, progress).run()


def collect_these(state: State, names: list[str], force: bool, wait: float,
                  progress: Progress | None = None) -> Collected:
    """Delete checkpoints that a person named. That they may be deleted was checked already."""
    with Lock(state.project.path(GC_LOCK), "gc", wait):
        return _CollectionOfNamed(state, names, force, wait, progress).run()


class _Collection:
    def __init__(self, state: State, keep: int | None, wait: float, progress: Progress | None) -> None:
        self.state = state
        self.keep = keep
        self.wait = wait
        self.progress = progress
        self.result = Collected()
        self.live: set[bytes] = set()  # objects that the remaining checkpoints need
        self.looked_at: set[str] = set()  # names of checkpoints that were taken into account

    def run(self) -> Collected:
        state = self.state
        before = disk_use(state)
        with Piece(state, self.wait):
            note_collection(state)
        self._look()
        self._delete_records()
        self._forget()
        begin_upkeep(state.objects)
        try:
            if UNKNOWN not in self.live:
                self._delete_objects()
                take_bundles_apart(state, self.wait)
            give_back_space(state, self.wait)
        finally:
            end_upkeep(state.objects)
        state.close()
        self.result.freed = max(0, before - disk_use(state))
        return self.result

    # what is deleted, and what the others need

    def _look(self) -> None:
        self.state.refresh()
        self.log = self._log()
        self.chosen = self._choose()
        records = self._records()
        gone = {record.name for record in self.chosen}
        self._mark([record for record in records if record.name not in gone])

    def _choose(self) -> list[Record]:
        return choose(self.state, self.keep)

    def _kept(self, records: list[Record]) -> set[str]:
        """The names that must not be deleted, as known under the lock."""
        in_use = backups_in_use(self.state)
        return in_use if self.keep is not None else never_collected(records, in_use)

    def _records(self) -> list[Record]:
        timeline = self.state.timeline
        records = timeline.all()
        if timeline.damaged:
            # It is unknown what an unreadable record refers to, so no object is known to be unused.
            raise StoreDamaged(what=f"the metadata of {', '.join(sorted(timeline.damaged))} is unreadable")
        self.looked_at |= {record.name for record in records}
        return records

    def _mark(self, records: list[Record]) -> None:
        def step(what: str, done: int, total: int) -> None:
            wait_for_others(self.state, self.wait)
            if self.progress:
                self.progress(what, done, total)

        mark(self.state, records, self.live, step)

    def _catch_up(self) -> None:
        """Take into account what happened while the lock was released. New checkpoints need their objects,
        even objects that were unused a moment ago, and a restore may need a checkpoint that was to be
        deleted."""
        if not os.path.isdir(self.state.files.folder):
            return
        fresh = set(os.listdir(self.state.files.folder)) - self.looked_at
        log = self._log()
        if not fresh and log == self.log:
            return
        self.log = log  # compared as well, because a restore does not always make a checkpoint
        records = self._records()
        kept = self._kept(records)
        needed = [r for r in records if r.name in fresh] + [r for r in self.chosen if r.name in kept]
        self.chosen = [r for r in self.chosen if r.name not in kept]
        mark(self.state, needed, self.live)

    def _log(self) -> tuple[int, int]:
        try:
            info = os.stat(self.state.project.path(OPERATIONS))
        except OSError:
            return 0, 0
        return info.st_size, info.st_mtime_ns

    # deleting

    def _delete_records(self) -> None:
        """Records are deleted before objects: an existing record must never refer to missing objects."""
        state = self.state
        with Piece(state, self.wait):
            self._catch_up()
            state.objects.note_deleted(max((record.name for record in self.chosen), default=""))
        self.chosen.sort(key=lambda record: record.sequence)  # the newest is deleted first
        while self.chosen:
            with Piece(state, self.wait) as piece:
                self._catch_up()
                parents, going = lineage(state), {record.name for record in self.chosen}
                while self.chosen:
                    record = self.chosen.pop()
                    going.remove(record.name)
                    reparent_children(state, parents, record.name, going)
                    self._move_kept_files(record, going)
                    state.files.delete(record.name)
                    self.result.deleted.append(record.name)
                    if piece.is_over():
                        break  # after at least one, or a slow disk would never finish
        with Piece(state, self.wait):
            deleted = state.objects.last_deleted()  # perhaps by a collection that was killed
            state.files.sweep({name for name in state.timeline.known_names() if name > deleted})
            sweep_kept_conversations(state)
        if os.path.isdir(state.files.folder):
            fsync_dir(state.files.folder)

    def _move_kept_files(self, record: Record, going: set[str]) -> None:
        if record.data.get("outside"):
            from rewind.checkpoint.records.outside import move_kept_files_to_previous

            heir = move_kept_files_to_previous(self.state, record, going)
            mark(self.state, [heir] if heir else [], self.live)

    def _forget(self) -> None:
        """Delete facts that would make the next checkpoint rely on an object that is about to be deleted. No
        object is deleted before all of them are gone."""
        state = self.state
        for cache in state.scan_caches():
            paths = cache.dirs_not_in(self.live)
            for at in range(0, max(1, len(paths)), _ROWS):
                with Piece(state, self.wait):
                    cache.forget(paths[at:at + _ROWS])
        with Piece(state, self.wait):
            self._catch_up()
            rows = state.derived.query("SELECT key, value FROM facts WHERE key LIKE 'chat %'")
            state.derived.write([("DELETE FROM facts WHERE key=?",
                                  [(key,) for key, oid in rows if oid not in self.live])])

    def _delete_objects(self) -> None:
        state = self.state
        dead = iter([oid for oid in state.objects.ids() if oid not in self.live])
        more = True
        while more:
            wait_for_others(state, self.wait)
            with Piece(state, self.wait) as piece:
                self._catch_up()
                more = self._delete_some(dead, piece)
            write_back(state.objects)

    def _delete_some(self, dead: Iterator[bytes], piece: Piece) -> bool:
        """Delete as many as there is time for; False when all are deleted."""
        some = []
        for oid in dead:
            if oid not in self.live:
                some.append(oid)
            if len(some) == _AT_ONCE:
                self.state.objects.delete(some)
                some = []
                if piece.is_over():
                    return True
        self.state.objects.delete(some)
        return False


class _CollectionOfNamed(_Collection):
    """Deletes only the checkpoints that a person named."""

    def __init__(self, state: State, names: list[str], force: bool, wait: float,
                 progress: Progress | None) -> None:
        super().__init__(state, None, wait, progress)
        self._names = set(names)
        self._force = force

    def _choose(self) -> list[Record]:
        return [record for record in self.state.timeline.all() if record.name in self._names]

    def _kept(self, records: list[Record]) -> set[str]:
        return {name for name, (_, always) in needed_because(self.state).items() if always or not self._force}
