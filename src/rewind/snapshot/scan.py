"""From the directory tree to a snapshot: what changed is read, the rest is known by its signature.

With a store the snapshot is captured; without one it is only looked at (plans, diffs, status).
"""

from __future__ import annotations

import gc
import os
import time

from rewind.errors import StoreDamaged
from rewind.snapshot import walk as w
from rewind.snapshot.cache import ScanCache, encode_stats
from rewind.snapshot.folders import Folders
from rewind.snapshot.read import GONE, UNREADABLE, failed, read_file
from rewind.snapshot.sqlite_files import companions
from rewind.snapshot.tree import DIR, FILES, LINK, UNCOVERED, Entry, Tree
from rewind.store.blobs import oid_of, pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from rewind.snapshot.cache import KnownDirs
    from rewind.snapshot.read import Read
    from rewind.snapshot.rules import Rules
    from rewind.store.objects import ObjectStore

    Progress = Callable[[str, int, int], None]

RACY_NS = 2_000_000_000  # the coarsest clock of a file system in use (FAT)
_TRIES = 3
_BULK_BYTES = 8 << 20  # from here on compression is left for later

# Why something is not captured.
SKIP_LIST, IGNORED, IGNORED_LARGE = b"skip-list", b"ignored", b"ignored-large"
TOO_LARGE, SPECIAL, PINS_ONLY = b"too-large", b"special", b"pins-only"
_CLOSED_REASON = {w.CLOSED: SKIP_LIST, w.UNWANTED: IGNORED, w.TOO_BIG: IGNORED_LARGE}


class Snapshot:
    """The state of the tree at one moment, as a tree id; trees not stored yet are at hand too."""

    def __init__(self, store: ObjectStore | None) -> None:
        self._store = store
        self.trees: dict[bytes, Tree] = {}
        self.root = b""
        self.files = 0
        self.bytes = 0
        self.uncovered = 0
        self.temps: list[bytes] = []
        self.known: dict[bytes, w.Known] = {}  # rows for the cache, once everything is committed
        self.stats: dict[bytes, bytes] = {}
        self.removed: list[bytes] = []

    def tree(self, oid: bytes) -> Tree:
        tree = self.trees.get(oid)
        if tree is None:
            if self._store is None:
                raise StoreDamaged(what=f"object {oid.hex()} is missing")
            tree = self.trees[oid] = Tree.decode(self._store.get(oid))
        return tree

    def remember(self, cache: ScanCache) -> None:
        """Only after the objects are committed: the cache promises that they are there."""
        if self._store is not None:
            cache.update(self.known, self.stats, self.removed, self._store.top())


def scan(root: bytes, rules: Rules, cache: ScanCache, store: ObjectStore | None, *,
         keep: bool, now_ns: int | None = None, processes: int = 0,
         progress: Progress | None = None) -> Snapshot:
    """Look at the whole tree. `keep` stores what is new; `now_ns` is the file system's clock."""
    start = min(now_ns or time.time_ns(), time.time_ns())
    processes = processes or available_cpus()
    collecting = gc.isenabled()
    gc.disable()  # nothing here makes cycles, and a collection over 100,000 rows costs more than the walk
    try:
        def look(cache: ScanCache) -> Snapshot:
            known = cache.load(store.top() if store else 0)
            found = w.Walker(root, rules, known).run(processes)
            builder = _Builder(root, rules, cache, store, keep, known, found, start - RACY_NS)
            return builder.build(progress or (lambda what, done, total: None))

        try:
            return look(cache)
        except StoreDamaged:
            # A tree that the cache relies on cannot be read. The project itself can: saving what is
            # there now must go on, whatever became of an older checkpoint.
            return look(ScanCache(None))
    finally:
        if collecting:
            gc.enable()


def available_cpus() -> int:
    try:
        return min(len(os.sched_getaffinity(0)), 4)
    except AttributeError:
        return min(os.cpu_count() or 1, 4)


class _Builder:
    def __init__(self, root: bytes, rules: Rules, cache: ScanCache, store: ObjectStore | None,
                 keep: bool, known: KnownDirs, found: w.Walked, racy_from: int) -> None:
        self.root = root
        self.rules = rules
        self.cache = cache
        self.store = store
        self.keep = keep and store is not None
        self.known = known
        self.found = found
        self.racy_from = racy_from
        self.out = Snapshot(store)
        self.out.temps = found.temps
        self.entries: dict[bytes, dict[bytes, Entry]] = {}
        self.rows: dict[bytes, dict[bytes, tuple[Any, ...]]] = {}
        self.racy: dict[bytes, set[bytes]] = {}
        self.unsettled: set[bytes] = set()
        self.jobs: list[tuple[bytes, bytes]] = []
        self.job_bytes = 0
        self.swapped: list[bytes] = []  # directories that made way for a link after they were listed
        self.at_hand: set[bytes] = set()  # trees of the last scan that are surely in the store

    def build(self, progress: Progress) -> Snapshot:
        with Folders(self.root) as self.folders:
            for listing in list(self.found.changed.values()):
                self._sort_out(listing)
            for folder in [one for one in self.found.failed if self._below_swapped(one)]:
                del self.found.failed[folder]
            self._read(progress)
        folders = self._bottom_up()
        self._fetch_known(folders)
        for folder in folders:
            self._make_tree(folder)
        top = self._known(b"")
        out = self.out
        out.root, out.files, out.bytes, out.uncovered = top.tree, top.files, top.size, top.uncovered
        return out

    # which files must be read

    def _sort_out(self, listing: w.Listing) -> None:
        folder = listing.folder
        if folder and not self._is_there(folder):
            return
        old_stats = self.cache.stats(folder)
        old = self._old_entries(folder) if old_stats else {}
        entries = self.entries[folder] = {}
        self.rows[folder] = {row[0]: row for row in listing.rows}
        self.racy[folder] = set()
        reasons = self._reasons(listing)
        for row, verdict in zip(listing.rows, listing.verdicts):
            name = row[0]
            if verdict == w.HIDDEN:
                continue
            if w.is_dir_row(row):
                reason = _CLOSED_REASON.get(verdict)
                entries[name] = (Entry(UNCOVERED, 0, 0, reason) if reason
                                 else Entry(DIR, row[1] & 0o7777, 0, b""))
            elif reasons.get(name):
                entries[name] = Entry(UNCOVERED, 0, 0, reasons[name])
            else:
                self._reuse_or_read(folder, name, row, old_stats.get(name), old.get(name))

    def _is_there(self, folder: bytes) -> bool:
        """Not so when a link is in its place, or on the way to it, since it was listed."""
        try:
            if self._below_swapped(folder):
                del self.found.changed[folder]
                return False
            self.folders.fd(folder)
        except OSError:
            self.swapped.append(folder)
            self.found.failed[folder] = UNREADABLE
            del self.found.changed[folder]
            return False
        return True

    def _below_swapped(self, folder: bytes) -> bool:
        return any(folder.startswith(above + b"/") for above in self.swapped)

    def _old_entries(self, folder: bytes) -> dict[bytes, Entry]:
        known = self.known.get(folder)
        if known is None or self.store is None or not self.store.has(known.tree):
            return {}
        return self.out.tree(known.tree).entries

    def _reuse_or_read(self, folder: bytes, name: bytes, row: tuple[Any, ...],
                       stat: tuple[tuple[int, ...], bool] | None, entry: Entry | None) -> None:
        racy = max(row[2], row[3]) >= self.racy_from
        if racy:
            self.racy[folder].add(name)
        if stat and entry and not stat[1] and stat[0] == row[1:] and entry.kind in (*FILES, LINK):
            self.entries[folder][name] = entry
        elif row[5] & 0o170000 == 0o120000:
            self._read_link(folder, name)
        else:
            self.jobs.append((folder, name))
            self.job_bytes += row[1]

    def _read_link(self, folder: bytes, name: bytes) -> None:
        try:
            target = os.readlink(name, dir_fd=self.folders.fd(folder))
        except OSError:
            self.unsettled.add(folder)  # gone, or no longer a link: the next scan sees what it is
            return
        self.entries[folder][name] = Entry(LINK, 0, len(target), target)

    def _reasons(self, listing: w.Listing) -> dict[bytes, bytes]:
        """Name -> why a file is not captured. A SQLite database and its journals share one fate."""
        verdicts = {row[0]: verdict for row, verdict in zip(listing.rows, listing.verdicts)
                    if not w.is_dir_row(row)}
        sizes = {row[0]: row[1] for row in listing.rows if row[0] in verdicts}
        reasons = {name: self._reason(verdict, (sizes[name],)) for name, verdict in verdicts.items()
                   if verdict != w.TAKE or sizes[name] > self.rules.max_bytes}
        groups = companions(verdicts)
        for main in set(groups.values()):
            members = [main, *(n for n, m in groups.items() if m == main)]
            for name in members:
                verdict = verdicts[name]
                shared = verdict if verdict in (w.FORCED, w.SPECIAL) else verdicts[main]
                reasons[name] = self._reason(shared, [sizes[n] for n in members])
        return reasons

    def _reason(self, verdict: int, sizes: Sequence[int]) -> bytes:
        if verdict == w.FORCED:
            return b""
        if verdict == w.SPECIAL:
            return SPECIAL
        if verdict == w.SKIP:
            return SKIP_LIST
        if verdict == w.SMALL_ONLY:
            if self.rules.policy == "none":
                return IGNORED
            if self.rules.policy == "small" and sum(sizes) > self.rules.file_bytes:
                return IGNORED_LARGE
        return TOO_LARGE if max(sizes) > self.rules.max_bytes else b""

    # reading

    def _read(self, progress: Progress) -> None:
        sink = self.store if self.keep else None
        if sink and self.job_bytes > _BULK_BYTES:
            sink.begin_bulk()
        for number, (folder, name) in enumerate(self.jobs):
            seen = self.rows[folder][name][1:]
            self._take(folder, name, self._read_one(folder, name, sink, seen))
            if not number % 64:
                progress("Reading files", number, len(self.jobs))
        self._settle_databases()
        if sink and sink.in_bulk:
            sink.end_bulk()

    def _read_one(self, folder: bytes, name: bytes, sink: ObjectStore | None,
                  seen: tuple[int, ...] | None = None) -> Read:
        try:
            return read_file(name, sink, seen, self.folders.fd(folder))
        except OSError:
            return failed(UNREADABLE)  # its directory made way for a link

    def _take(self, folder: bytes, name: bytes, read: Read) -> None:
        if read.failure is not None:
            self.unsettled.add(folder)
            if read.failure != GONE:
                self.entries[folder][name] = Entry(UNCOVERED, 0, 0, UNREADABLE)
            return
        row = self.rows[folder][name]
        if not read.settled or row[1:] != read.row:
            self.unsettled.add(folder)
            self.racy[folder].add(name)
            self.rows[folder][name] = (name, *read.row)
        self.entries[folder][name] = Entry(read.kind, read.row[4] & 0o7777, read.size, read.ref)

    def _settle_databases(self) -> None:
        """A database and its journal were read one after the other: make sure they fit together."""
        folders = {folder for folder, _ in self.jobs}
        for folder in folders:
            groups = companions(self.entries[folder])
            for main in set(groups.values()):
                members = [main, *(n for n, m in groups.items() if m == main)]
                self._settle_group(folder, members)

    def _settle_group(self, folder: bytes, members: list[bytes]) -> None:
        for _ in range(_TRIES):
            moved = [name for name in members if self._moved(folder, name)]
            if not moved:
                return
            for name in members:
                read = self._read_one(folder, name, self.store if self.keep else None)
                self.entries[folder].pop(name, None)
                self._take(folder, name, read)

    def _moved(self, folder: bytes, name: bytes) -> bool:
        if name not in self.entries[folder] or self.entries[folder][name].kind not in FILES:
            return False
        try:
            st = os.stat(name, dir_fd=self.folders.fd(folder), follow_symlinks=False)
        except OSError:
            return True
        return self.rows[folder][name][1:3] != (st.st_size, st.st_mtime_ns)

    # trees, from the leaves to the top

    def _bottom_up(self) -> list[bytes]:
        folders = set(self.found.changed)
        for folder in (*self.found.changed, *self.found.failed):
            while folder:
                folder = os.path.dirname(folder)
                if folder in folders and folder not in self.found.changed:
                    break
                folders.add(folder)
        return sorted(folders, key=lambda f: f.count(b"/") + bool(f), reverse=True)

    def _fetch_known(self, folders: list[bytes]) -> None:
        """The rows of the directories that are taken over as they are."""
        self.known.fetch(folders)
        taken_over = []
        for folder in folders:
            entries = self.entries.get(folder)
            if entries is None:
                entries = self.out.tree(self.known[folder].tree).entries
            taken_over += [w.join(folder, name) for name, entry in entries.items() if entry.kind == DIR]
        self.known.fetch(taken_over)
        if self.store:
            rows = (self.known.get(folder) for folder in taken_over)
            self.at_hand = self.store.those_there(row.tree for row in rows if row)

    def _make_tree(self, folder: bytes) -> None:
        listing = self.found.changed.get(folder)
        old = self.known.get(folder)
        if listing is None:
            assert old is not None
            self.entries[folder] = dict(self.out.tree(old.tree).entries)
        entries = self.entries[folder]
        below = [self._attach(folder, name, entry) for name, entry in list(entries.items())
                 if entry.kind == DIR]
        partial = PINS_ONLY if self._is_partial(folder, listing, old) else b""
        tree = Tree(entries, partial)
        blob = tree.encode()
        oid = oid_of(blob)
        self.out.trees[oid] = tree
        if self.keep and self.store and not self.store.has(oid):
            self.store.put_packed(oid, pack(blob))
        self._note(folder, listing, old, oid, [k for k in below if k])

    def _is_partial(self, folder: bytes, listing: w.Listing | None, old: w.Known | None) -> bool:
        if listing is not None:
            return listing.mode == w.PINS_ONLY
        return bool(old and self.out.tree(old.tree).partial)

    def _attach(self, folder: bytes, name: bytes, entry: Entry) -> w.Known | None:
        """Give a child directory's entry its tree; the child's row for the totals."""
        child = w.join(folder, name)
        reason = self.found.failed.get(child)
        entries = self.entries[folder]
        if reason is not None:
            self.unsettled.add(folder)
            del entries[name]
            if reason:
                entries[name] = Entry(UNCOVERED, 0, 0, reason)
            return None
        known = self._known(child)
        entries[name] = Entry(DIR, entry.mode, 0, known.tree)
        return known

    def _known(self, folder: bytes) -> w.Known:
        """The row of a directory, just made or from the cache; the latter only with its tree at hand.
        Trees below it are as sure as it is: objects are deleted when nothing points at them."""
        fresh = self.out.known.get(folder)
        if fresh is not None:
            return fresh
        known = self.known.get(folder)
        if known is None or (self.store is not None and known.tree not in self.at_hand
                             and not self.store.has(known.tree)):
            raise StoreDamaged(what="a directory that the last scan saw is not in it any more")
        return known

    def _note(self, folder: bytes, listing: w.Listing | None, old: w.Known | None, oid: bytes,
              below: list[w.Known]) -> None:
        values = self.entries[folder].values()
        files = [e for e in values if e.kind in FILES or e.kind == LINK]
        count = len(files) + sum(k.files for k in below)
        size = sum(e.size for e in files) + sum(k.size for k in below)
        uncovered = sum(e.kind == UNCOVERED for e in values) + sum(k.uncovered for k in below)
        if listing is not None:
            settled = folder not in self.unsettled and not self.racy[folder]
            note = w.Known(folder, listing.env, listing.sig if settled else b"", listing.out_env, oid, count,
                           size, uncovered, listing.marks())
            rows = [self.rows[folder][row[0]] for row in listing.rows]
            self.out.stats[folder] = encode_stats(rows, self.racy[folder])
            self._drop_vanished(folder, old)
        else:
            assert old is not None
            sig = b"" if folder in self.unsettled else old.sig
            note = w.Known(folder, old.env, sig, old.out_env, oid, count, size, uncovered, old.marks)
        self.out.known[folder] = note

    def _drop_vanished(self, folder: bytes, old: w.Known | None) -> None:
        for name, entry in self._old_entries(folder).items() if old else ():
            now = self.entries[folder].get(name)
            if entry.kind == DIR and (now is None or now.kind != DIR):
                self.out.removed.append(w.join(folder, name))

