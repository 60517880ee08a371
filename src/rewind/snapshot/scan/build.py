"""Makes trees from the result of the walk: reads what changed, and makes each directory after those
inside it."""

from __future__ import annotations

import os
import time

from rewind.errors import StoreDamaged
from rewind.snapshot.rules.reason_codes import Reasons
from rewind.snapshot.scan import walk as w
from rewind.snapshot.scan.cache import KnownDir, decode_stats, encode_stats
from rewind.snapshot.scan.folders import Folders
from rewind.snapshot.scan.read import (
    DATABASE,
    GONE,
    TOO_LARGE,
    UNREADABLE,
    failed,
    read_file,
    signature,
    store_pieces,
)
from rewind.snapshot.scan.sqlite_files import companions, is_database_at, real_group
from rewind.snapshot.scan.why_skipped import REASON_OF_CLOSED, reasons_of_files
from rewind.snapshot.trees.tree import DIR, FILES, LINK, UNCOVERED, Tree, TreeEntry, with_trees
from rewind.store.blobs import compressed, oid_of, pack_hashes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rewind.snapshot.rules.rules import Rules
    from rewind.snapshot.scan.cache import KnownDirs, ScanCache
    from rewind.snapshot.scan.moment import Moment
    from rewind.snapshot.scan.read import Read
    from rewind.store.blobs import BlobSink
    from rewind.store.objects import ObjectStore

    Progress = Callable[[str, int, int], None]

RACY_NS = 2_000_000_000  # the resolution of the coarsest file system clock in use (FAT)
_TRIES = 3
_BULK_BYTES = 8 << 20  # if more is read, compression is left for later
_AT_ONCE = 256  # directories whose rows are read together, and whose trees are stored together
_MOST_HELD = 200_000  # entries of trees that stay in memory for a comparison afterwards
PINS_ONLY, CHANGED = Reasons.PINS_ONLY, Reasons.CHANGED


class Snapshot:
    """The state of the tree at one moment, as the id of a tree. Trees that are not stored yet are available
    too."""

    def __init__(self, store: ObjectStore | None) -> None:
        self._store = store
        self.trees: dict[bytes, Tree] = {}
        self.blobs: dict[bytes, bytes] = {}  # more trees, not decoded yet, because most are never needed
        self.root = b""
        self.files = 0
        self.bytes = 0
        self.uncovered = 0
        self.temps: list[bytes] = []
        self.is_late = False  # files were read again after `all_read` was called
        self.torn: list[bytes] = []  # databases that were written to faster than they could be copied
        self.known: dict[bytes, KnownDir] = {}  # rows for the cache, for when everything is committed
        self.stats: dict[bytes, bytes] = {}
        self.removed: list[bytes] = []
        self.monitored: str | None = None  # also for the cache: what the next scan asks a monitor

    def tree(self, oid: bytes) -> Tree:
        tree = self.trees.get(oid)
        if tree is None:
            blob = self.blobs.get(oid) or self._stored(oid)
            tree = self.trees[oid] = Tree.decode(blob)
        return tree

    def _stored(self, oid: bytes) -> bytes:
        if self._store is None:
            raise StoreDamaged(what=f"object {oid.hex()} is missing")
        return self._store.get(oid)

    def reads_from(self, blobs: object) -> bool:
        """Whether `tree` also returns the trees of that store."""
        return self._store is blobs

    def remember(self, cache: ScanCache) -> None:
        """Call this only after the objects are committed, because the cache promises that they exist."""
        if self._store is not None:
            cache.update(self.known, self.stats, self.removed, self._store.top(),
                         self.monitored)


class _OpenDirectory:
    """A directory that has changed, while it is read."""

    __slots__ = ("databases", "entries", "fd", "limit", "listing", "outgrown", "racy", "rows", "settled")

    def __init__(self, listing: w.Listing, fd: int, limit: int) -> None:
        self.listing = listing
        self.fd = fd
        self.limit = None if w.FORCED in listing.verdicts else limit
        self.entries: dict[bytes, TreeEntry] = {}
        self.rows: dict[bytes, tuple[Any, ...]] = {row[0]: row for row in listing.rows}
        self.racy: set[bytes] = set()
        self.outgrown: set[bytes] = set()  # files that became too large after they were listed
        self.databases: set[bytes] = set()  # of SQLite, recently written, not read yet
        self.settled = True  # if False, the next scan must look again


class _UncompressedBlobs:
    """What has been read, not compressed and not stored yet, because somebody waits for the reading only."""

    in_bulk = True  # for `pack`

    def __init__(self) -> None:
        self._blobs: dict[bytes, bytes] = {}

    def has(self, oid: bytes) -> bool:
        return oid in self._blobs

    def put_packed(self, oid: bytes, packed: bytes) -> None:
        self._blobs[oid] = packed

    def store(self, sink: ObjectStore) -> None:
        there = sink.find_existing(self._blobs)
        for oid, packed in self._blobs.items():
            if oid not in there:
                sink.put_packed(oid, compressed(packed))
        self._blobs.clear()


class SnapshotBuilder:
    """Each directory is handled once, after all those inside it, and then forgotten: the first scan
    of a million files must not have all of them in memory twice."""

    def __init__(self, root: bytes, rules: Rules, cache: ScanCache, store: ObjectStore | None,
                 keep: bool, known: KnownDirs, found: w.WalkResult, racy_from: int,
                 progress: Progress | None, moment: Moment | None = None,
                 all_read: Callable[[], None] | None = None) -> None:
        """`all_read` is called as soon as everything is read, before the rest is done."""
        self.root = root
        self.rules = rules
        self.cache = cache
        self.store = store
        self.sink = store if keep else None
        self.all_read = all_read
        self.uncompressed = _UncompressedBlobs() if all_read else None
        self.known = known
        self.found = found
        self.racy_from = racy_from
        self.since = time.monotonic_ns()
        self.out = Snapshot(store)
        self.out.temps = found.temps
        if found.failed:
            self.out.monitored = ""  # no monitor reports changes in directories that cannot be read
        self.progress = progress
        self.moment = moment
        self.done, self.total = 0, sum(len(one.rows) for one in found.changed.values())
        self.stats: dict[bytes, bytes] = {}  # what the last scan saw in the current directories
        self.stored_inside: set[bytes] = set()  # trees of the directories in them that are in the store
        self.waiting: dict[bytes, bytes] = {}  # new trees to be stored
        self.changed_inside: dict[bytes, list[bytes]] = {}  # unchanged directory -> changed directories in it
        self.in_memory = 0  # entries of trees
        self.read_bytes = 0

    def build(self) -> Snapshot:
        sink = self.sink
        if self._new_bytes() > _BULK_BYTES:
            self._begin_bulk()
        folders = self._bottom_up()
        with Folders(self.root) as self.folders:
            for at in range(0, max(1, len(folders)), _AT_ONCE):
                part = folders[at:at + _AT_ONCE]
                self._fetch(part)
                all_opened = [(folder, self._read_folder(folder)) for folder in part]
                if self.all_read and at + _AT_ONCE >= len(folders):
                    self.all_read()
                self._store_uncompressed()
                for folder, opened in all_opened:
                    self._make_directory(folder, opened)
                self._store_trees()
                if sink and self.in_memory > _MOST_HELD:
                    self.out.trees.clear()
                    self.out.blobs.clear()
                    self.in_memory = 0
        if sink and sink.in_bulk:
            sink.end_bulk()
        out, top = self.out, self._top()
        out.root, out.files, out.bytes, out.uncovered = top.tree, top.files, top.size, top.uncovered
        return out

    def _begin_bulk(self) -> None:
        self._store_uncompressed()
        self.uncompressed = None
        if self.sink and not self.sink.in_bulk:
            self.sink.begin_bulk()

    def _store_uncompressed(self) -> None:
        if self.uncompressed and self.sink:
            self.uncompressed.store(self.sink)

    def _top(self) -> KnownDir:
        made = self.out.known.get(b"")
        known = made or self.known.get(b"")
        if known is None or not (made or self.store is None or self.store.has(known.tree)):
            raise StoreDamaged(what="what the last scan saw is not in it any more")
        return known

    def _new_bytes(self) -> int:
        """At least this much will be read: files in directories that the last scan did not see."""
        return sum(row[1] for folder, listing in self.found.changed.items() if folder not in self.known.sigs
                   for row in listing.rows if not w.is_dir_row(row))

    def _bottom_up(self) -> list[bytes]:
        """The changed directories and all above them. In this order a directory comes right after those
        inside it."""
        folders = set(self.found.changed)
        for folder in (*self.found.changed, *self.found.failed):
            while folder:
                folder = os.path.dirname(folder)
                if folder in folders and folder not in self.found.changed:
                    break
                folders.add(folder)
        for folder in folders | self.found.failed.keys():
            above = os.path.dirname(folder)
            if folder and above not in self.found.changed:
                self.changed_inside.setdefault(above, []).append(folder)
        return sorted(folders, key=lambda folder: folder and folder + b"/", reverse=True)

    # what is known of them

    def _fetch(self, folders: list[bytes]) -> None:
        """Load what the last scan has noted about them, with few queries. A query for each directory would
        take longer than reading what has changed."""
        if not self.known.sigs:
            return
        self.known.fetch(folders)
        changed = [folder for folder in folders if folder in self.found.changed]
        self.stats = self.cache.stats(changed)
        if self.store:
            rows = (self.known.get(folder) for folder in folders)
            for oid, blob in self.store.get_many({row.tree for row in rows if row} - self.out.blobs.keys()):
                self._keep_blob(oid, blob)
        self.stored_inside = set()
        self._fetch_inside(changed)

    def _fetch_inside(self, folders: list[bytes]) -> None:
        below = [w.join(folder, name) for folder in folders for name in self._children(folder)]
        self.known.fetch(below)
        if self.store:
            rows = (self.known.get(folder) for folder in below)
            self.stored_inside |= self.store.find_existing(row.tree for row in rows if row)

    def _keep_blob(self, oid: bytes, blob: bytes) -> None:
        self.out.blobs[oid] = blob
        self.in_memory += len(blob) // 64

    def _children(self, folder: bytes) -> list[bytes]:
        listing = self.found.changed.get(folder)
        if listing is not None:
            return [row[0] for row in listing.rows if w.is_dir_row(row)]
        return [name for name, entry in self._old_entries(folder).items() if entry.kind == DIR]

    def _old_entries(self, folder: bytes) -> dict[bytes, TreeEntry]:
        known = self.known.get(folder)
        return self.out.tree(known.tree).entries if known and known.tree in self.out.blobs else {}

    # one directory

    def _read_folder(self, folder: bytes) -> _OpenDirectory | None:
        """None if nothing changed in it, or if it cannot be read."""
        listing = self.found.changed.get(folder)
        opened = self._open_directory(listing) if listing else None
        if opened and self.moment and self.moment.is_over():
            self._mark_uncertain(opened)
        return opened

    def _make_directory(self, folder: bytes, opened: _OpenDirectory | None) -> None:
        listing = self.found.changed.pop(folder, None)
        old = self.known.get(folder)
        if listing is None:
            if old is None:
                raise StoreDamaged(what="a directory that the last scan saw is not in it any more")
            if not self._replace_trees(folder, old):
                tree = self.out.tree(old.tree)
                entries = dict(tree.entries)
                self._fetch_inside([folder])
                below, settled = self._fill_in_trees(folder, entries)
                sig = old.sig if settled else b""
                self._add_row(folder, old, sig, old.marks, Tree(entries, tree.partial), below)
            return
        if opened is None:
            return
        entries = opened.entries
        below, settled = self._fill_in_trees(folder, entries)
        sig = listing.sig if settled and opened.settled and not opened.racy else b""
        partial = PINS_ONLY if listing.mode == w.PINS_ONLY else b""
        self._add_row(folder, listing, sig, listing.marks(), Tree(entries, partial), below)
        self.out.stats[folder] = encode_stats([opened.rows[row[0]] for row in listing.rows], opened.racy)
        for name, entry in self._old_entries(folder).items():
            if entry.kind == DIR and (name not in entries or entries[name].kind != DIR):
                self.out.removed.append(w.join(folder, name))

    def _mark_uncertain(self, opened: _OpenDirectory) -> None:
        """After the moment: mark more as changed than the files that are known to be. If the directory was
        changed, that is what the last scan saw and is gone. And if one file of a database was changed, it is
        all of them."""
        uncertain = set()
        if self.moment and self.moment.ended_before(os.fstat(opened.fd).st_ctime_ns):
            uncertain = self._old_entries(opened.listing.folder).keys() - opened.rows.keys()
        changed = {name for name, entry in opened.entries.items() if entry.ref == CHANGED} | uncertain
        groups = companions(opened.entries.keys() | uncertain)
        for main in {groups.get(name, name) for name in changed}:
            uncertain |= {main, *(name for name, of in groups.items() if of == main)}
        opened.entries.update((name, TreeEntry(UNCOVERED, 0, 0, CHANGED)) for name in uncertain)
        opened.settled = opened.settled and not uncertain

    def _replace_trees(self, folder: bytes, old: KnownDir) -> bool:
        """Only put the new trees of the directories inside it into the directory's list. False if
        more has changed, or if it is not certain that its other trees are in the store."""
        blob = self.out.blobs.get(old.tree)
        if blob is None or not self.store or self.store.lost:
            return False
        trees: dict[bytes, bytes] = {}
        files, size, uncovered = old.files, old.size, old.uncovered
        for child in self.changed_inside[folder]:
            made, before = self.out.known.get(child), self.known.get(child)
            if made is None or before is None:
                return False
            trees[os.path.basename(child)] = made.tree
            files += made.files - before.files
            size += made.size - before.size
            uncovered += made.uncovered - before.uncovered
        blob = with_trees(blob, trees)
        oid = self._put_blob(blob)
        self._keep_blob(oid, blob)
        self.out.known[folder] = KnownDir(folder, old.env, old.sig, old.out_env, oid, files, size, uncovered,
                                         old.marks)
        return True

    def _fill_in_trees(self, folder: bytes, entries: dict[bytes, TreeEntry]) -> tuple[list[KnownDir], bool]:
        """Put the trees of directories into their entries. Returns their rows, for the totals, and whether
        none is missing."""
        below = []
        settled = True
        for name, entry in list(entries.items()):
            if entry.kind != DIR:
                continue
            child = w.join(folder, name)
            reason = self.found.failed.get(child)
            if reason is None:
                known = self._row_of(child)
                entries[name] = TreeEntry(DIR, entry.mode, 0, known.tree)
                below.append(known)
                continue
            settled = False
            del entries[name]
            if reason:
                entries[name] = TreeEntry(UNCOVERED, 0, 0, reason)
        return below, settled

    def _row_of(self, folder: bytes) -> KnownDir:
        """The row of a directory, just made or from the cache. From the cache, only if its tree is in the
        store. Then everything in that tree is there too: an object is deleted only when nothing refers to
        it."""
        fresh = self.out.known.get(folder)
        if fresh is not None:
            return fresh
        known = self.known.get(folder)
        if known is None or not (self.store is None or known.tree in self.stored_inside):
            raise StoreDamaged(what="a directory that the last scan saw is not in it any more")
        return known

    def _put(self, tree: Tree) -> bytes:
        oid = self._put_blob(tree.encode())
        self.out.trees[oid] = tree
        self.in_memory += len(tree.entries)
        return oid

    def _put_blob(self, blob: bytes) -> bytes:
        oid = oid_of(blob)
        if self.sink:
            self.waiting[oid] = blob
        return oid

    def _store_trees(self) -> None:
        if self.sink and self.waiting:
            there = set() if self.sink.in_bulk else self.sink.find_existing(self.waiting)
            for oid, blob in self.waiting.items():
                if oid not in there:
                    self.sink.put_packed(oid, pack_hashes(blob, self.sink.in_bulk))
            self.waiting.clear()

    def _add_row(self, folder: bytes, under: KnownDir | w.Listing, sig: bytes, marks: bytes, tree: Tree,
                 below: list[KnownDir]) -> None:
        """Add the row of a finished directory. `under` says which rules applied."""
        values = tree.entries.values()
        files = [e for e in values if e.kind in FILES or e.kind == LINK]
        self.out.known[folder] = KnownDir(
            folder, under.env, sig, under.out_env, self._put(tree), len(files) + sum(k.files for k in below),
            sum(e.size for e in files) + sum(k.size for k in below),
            sum(e.kind == UNCOVERED for e in values) + sum(k.uncovered for k in below), marks)

    # reading one directory

    def _open_directory(self, listing: w.Listing) -> _OpenDirectory | None:
        """None if it, or a directory above it, became a link after it was listed."""
        folder = listing.folder
        try:
            opened = _OpenDirectory(listing, self.folders.fd(folder), self.rules.max_bytes)
        except OSError:
            if not folder:
                raise
            self.found.failed[folder] = UNREADABLE
            return None
        stats = decode_stats(self.stats[folder]) if folder in self.stats else {}
        old = self._old_entries(folder) if stats else {}
        reasons = reasons_of_files(listing, self.rules, opened.fd)
        to_read = []
        for row, verdict in zip(listing.rows, listing.verdicts):
            name = row[0]
            if verdict == w.HIDDEN:
                continue
            if w.is_dir_row(row):
                reason = REASON_OF_CLOSED.get(verdict)
                opened.entries[name] = (TreeEntry(UNCOVERED, 0, 0, reason) if reason
                                        else TreeEntry(DIR, row[1] & 0o7777, 0, b""))
            elif reasons.get(name):
                opened.entries[name] = TreeEntry(UNCOVERED, 0, 0, reasons[name])
            elif not self._add_without_reading(opened, row, None if verdict == w.FORCED else stats.get(name),
                                               old.get(name)):
                to_read.append(row)
        self._read(opened, to_read)
        self.done += len(listing.rows) - len(to_read)
        return opened

    def _add_without_reading(self, opened: _OpenDirectory, row: tuple[Any, ...],
                             stat: tuple[tuple[int, ...], bool] | None, entry: TreeEntry | None) -> bool:
        """Whether it need not be read, because it has not changed since the last scan, or is a link."""
        name = row[0]
        if max(row[2], row[3]) >= self.racy_from:
            opened.racy.add(name)
        if self.moment and self.moment.ended_before(row[3]):
            opened.settled = False
            opened.entries[name] = TreeEntry(UNCOVERED, 0, 0, CHANGED)
            return True
        if stat and entry and not stat[1] and stat[0] == row[1:] and entry.kind in (*FILES, LINK):
            opened.entries[name] = entry
        elif row[5] & 0o170000 == 0o120000:
            self._read_link(opened, name)
        else:
            return False
        return True

    def _read(self, opened: _OpenDirectory, rows: list[tuple[Any, ...]]) -> None:
        self.read_bytes += sum(row[1] for row in rows)
        if self.read_bytes > _BULK_BYTES:
            self._begin_bulk()
        sink = self._read_sink()
        for number, row in enumerate(rows):
            if self.progress and not number % 64:
                self.progress("Reading files", self.done, self.total)
            self._add_file(opened, row[0], read_file(row[0], sink, row[1:], opened.fd, opened.limit,
                                                     row[0] in opened.racy))
            self.done += 1
        if rows:
            self._settle_databases(opened)

    def _read_sink(self) -> BlobSink | None:
        return self.uncompressed if self.uncompressed and self.sink else self.sink

    def _read_link(self, opened: _OpenDirectory, name: bytes) -> None:
        try:
            target = os.readlink(name, dir_fd=opened.fd)
            row = signature(os.lstat(name, dir_fd=opened.fd)) if self.moment else ()
        except OSError:
            opened.settled = False  # it is gone, or no longer a link: the next scan will see
            if self.moment and self.moment.is_over():
                opened.entries[name] = TreeEntry(UNCOVERED, 0, 0, CHANGED)
            return
        if self.moment and self.moment.has_changed(opened.rows[name][1:], row):
            opened.settled = False
            opened.entries[name] = TreeEntry(UNCOVERED, 0, 0, CHANGED)
            return
        opened.entries[name] = TreeEntry(LINK, 0, len(target), target)

    def _add_file(self, opened: _OpenDirectory, name: bytes, read: Read) -> None:
        if read.failure == DATABASE:
            opened.databases.add(name)
            return
        if self.moment and read.failure != UNREADABLE \
                and self.moment.has_changed(opened.rows[name][1:], read.row if read.settled else ()):
            opened.settled = False
            opened.entries[name] = TreeEntry(UNCOVERED, 0, 0, CHANGED)
            return
        if read.failure is not None:
            opened.settled = False
            if read.failure == TOO_LARGE:
                opened.outgrown.add(name)
            if read.failure != GONE:
                opened.entries[name] = TreeEntry(UNCOVERED, 0, 0, read.failure)
            return
        if not read.settled or opened.rows[name][1:] != read.row:
            opened.settled = False
            opened.racy.add(name)
            opened.rows[name] = (name, *read.row)
        opened.entries[name] = TreeEntry(read.kind, read.row[4] & 0o7777, read.size, read.ref)

    def _settle_databases(self, opened: _OpenDirectory) -> None:
        """Make sure that databases and their journals match, since they were read one after the other."""
        groups = companions(opened.entries.keys() | opened.databases)
        for main in opened.databases.union(groups.values()):
            members = [main, *(n for n, m in groups.items() if m == main)]
            if main in opened.databases or (not opened.racy.isdisjoint(members)
                                            and is_database_at(main, opened.fd)):
                self._copy_database(opened, main)
            else:
                self._settle_group(opened, members)

    def _copy_database(self, opened: _OpenDirectory, main: bytes) -> None:
        """Copy a database that somebody may be writing to. The index of its WAL (`-shm`) stays as it was
        read, because whoever opens the database makes a new one."""
        from rewind.snapshot.scan.sqlite_copy import TooLarge, copy_database

        names = [main, main + b"-journal", main + b"-wal"]
        opened.settled = False
        opened.racy.update(names)  # to be read again next time in any case
        try:
            copied = copy_database(main, opened.fd, opened.limit, self._now_ns)
        except TooLarge:
            opened.entries.update((name, TreeEntry(UNCOVERED, 0, 0, TOO_LARGE)) for name in names
                                  if name == main or name in opened.entries)
            return
        except FileNotFoundError:
            opened.entries.pop(main, None)
            return
        except OSError:
            self._add_file(opened, main, failed(UNREADABLE))
            return
        for name in names:
            if name in opened.entries and opened.entries[name].kind in FILES:
                del opened.entries[name]
        if any(self._is_late(opened, name, file.signature) for name, file in copied.files.items()):
            copied.close()
            members = {main, *(name for name, of in companions(opened.rows).items() if of == main)}
            opened.entries.update((name, TreeEntry(UNCOVERED, 0, 0, CHANGED)) for name in members)
            return
        for name, file in copied.files.items():
            kind, size, ref = store_pieces(file.pieces(), self._read_sink())
            opened.entries[name] = TreeEntry(kind, file.signature[4] & 0o7777, size, ref)
        copied.close()
        if copied.torn:
            self.out.torn.append(w.join(opened.listing.folder, main))

    def _is_late(self, opened: _OpenDirectory, name: bytes, found: tuple[int, ...]) -> bool:
        """Whether a file changed after the moment of the snapshot."""
        listed = opened.rows[name][1:] if name in opened.rows else ()
        return bool(self.moment and self.moment.has_changed(listed, found))

    def _now_ns(self) -> int:
        """The time according to the file system, or a little earlier."""
        return self.racy_from + RACY_NS + time.monotonic_ns() - self.since

    def _settle_group(self, opened: _OpenDirectory, members: list[bytes]) -> None:
        for _ in range(_TRIES):
            if not any(_has_changed(opened, name) for name in members):
                break
            for name in members:
                opened.entries.pop(name, None)
                read = read_file(name, self._read_sink(), None, opened.fd, opened.limit)
                self._add_file(opened, name, read)
        if any(name in opened.entries and opened.entries[name].ref == CHANGED for name in members):
            # One without the others would not be a usable database.
            opened.entries.update((name, TreeEntry(UNCOVERED, 0, 0, CHANGED)) for name in members)
        if opened.outgrown.intersection(members):
            real = real_group(members, opened.fd)
            if opened.outgrown.intersection(real):
                opened.entries.update((name, TreeEntry(UNCOVERED, 0, 0, TOO_LARGE)) for name in real
                                      if name in opened.entries)


def _has_changed(opened: _OpenDirectory, name: bytes) -> bool:
    if name not in opened.entries or opened.entries[name].kind not in FILES:
        return False
    try:
        st = os.stat(name, dir_fd=opened.fd, follow_symlinks=False)
    except OSError:
        return True
    return opened.rows[name][1:3] != (st.st_size, st.st_mtime_ns)
