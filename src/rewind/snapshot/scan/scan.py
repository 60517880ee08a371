"""Makes a snapshot of the directory tree: what changed is read, the rest is recognised by its signature.

With a store the snapshot is captured. Without one the tree is only looked at (plans, diffs, status).
"""

from __future__ import annotations

import gc
import os
import time

from rewind.errors import StoreDamaged
from rewind.snapshot.scan.build import RACY_NS, SnapshotBuilder
from rewind.snapshot.scan.cache import ScanCache
from rewind.snapshot.scan.walk import Walker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rewind.snapshot.rules.rules import Rules
    from rewind.snapshot.scan.build import Progress, Snapshot
    from rewind.snapshot.scan.moment import Moment
    from rewind.snapshot.watchman.monitor import Monitor
    from rewind.store.objects import ObjectStore


def scan(root: bytes, rules: Rules, cache: ScanCache, store: ObjectStore | None, *,
         keep: bool, now_ns: int | None = None, processes: int = 0,
         progress: Progress | None = None, moment: Moment | None = None,
         monitor: Monitor | None = None, all_read: Callable[[], None] | None = None) -> Snapshot:
    """Look at the whole tree. `keep` stores what is new. `now_ns` is the current time of the file system.
    `monitor` may know that most directories need not be looked at. `all_read` is called as soon as everything
    is read."""
    start = min(now_ns or time.time_ns(), time.time_ns())
    if moment:
        moment.begin(now_ns or time.time_ns())
        if moment.is_over():
            monitor = None  # only the files themselves show what changed since then
    processes = processes or available_cpus()
    collecting = gc.isenabled()
    gc.disable()  # nothing here makes cycles, and a collection over 100,000 rows takes longer than the walk
    try:
        read_at: list[float] = []

        def note() -> None:
            read_at.append(time.monotonic())
            if all_read:
                all_read()

        def look(cache: ScanCache, monitor: Monitor | None = None) -> Snapshot:
            top = store.top() if store else 0
            if monitor:
                known, found = monitor.walk(rules, cache, top, processes)
            else:
                known = cache.load(top)
                found = Walker(root, rules, known, moment).run(processes)
            snapshot = SnapshotBuilder(root, rules, cache, store, keep, known, found, start - RACY_NS,
                                       progress, moment, note if all_read and not read_at else None).build()
            if monitor:
                monitor.finish(snapshot, known, found)
            return snapshot

        try:
            return look(cache, monitor)
        except StoreDamaged:
            # A tree that the cache refers to cannot be read, but the project can. Saving its current state
            # must not depend on an older checkpoint. Files may change again if `all_read` was called.
            if moment and read_at:
                moment.end_at(read_at[0])
            snapshot = look(ScanCache(None))
            snapshot.is_late = bool(read_at)
            return snapshot
    finally:
        if collecting:
            gc.enable()


def available_cpus() -> int:
    try:
        return min(len(os.sched_getaffinity(0)), 4)
    except AttributeError:
        return min(os.cpu_count() or 1, 4)
