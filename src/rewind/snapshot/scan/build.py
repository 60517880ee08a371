"""From what the walk found to trees: what changed is read, and each directory is made after those in it."""

from __future__ import annotations

import os
import time

from rewind.errors import StoreDamaged
from rewind.snapshot.rules.reasons import Reasons
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

RACY_NS = 2_000_000_000  # the coarsest clock of a file system in use (FAT)
_TRIES = 3
_BULK_BYTES = 8 << 20  # from here on compression is left for later
_AT_ONCE = 256  # directories that are asked for together, and whose trees are stored together
_MOST_HELD = 200_000  # entries of trees that stay in memory for whoever compares them next
PINS_ONLY, CHANGED = Reasons.PINS_ONLY, Reasons.CHANGED


class Snapshot:
    """The state of the tree at one moment, as a tree id; trees not stored yet are at hand too."""

    def __init__(self, store: ObjectStore | None) -> None:
        self._store = store
        self.trees: dict[bytes, Tree] = {}
        self.blobs: dict[bytes, bytes] = {}  # more of them, not decoded yet: most are never looked into
        self.root = b""
        self.files = 0
        self.bytes = 0
        self.uncovered = 0
        self.temps: list[bytes] = []
        self.is_late = False  # it was read again when somebody had been told that all had been read
        self.torn: list[bytes] = []  # databases that were written faster than they could be copied
        self.known: dict[bytes, KnownDir] = {}  # rows for the cache, once everything is committed
        self.stats: dict[bytes, bytes] = {}
        self.removed: list[bytes] = []
        self.monitored: str | None = None  # for the cache as well: what the next scan is to ask a monitor

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
        """Whether `tree` gives the trees of that store, too; most of them are at hand already."""
        return self._store is blobs

    def remember(self, cache: ScanCache) -> None:
        """Only after the objects are committed: the cache promises that they are there."""
        if self._store is not None:
            cache.update(self.known, self.stats, self.removed, self._store.top(),
                         self.monitored)


class _OpenDirectory:
    """A directory that changed, while it is read."""

    __slots__ = ("databases", "entries", "fd", "limit", "listing", "outgrown", "racy", "rows", "settled")

    def __init__(self, listing: w.Listing, fd: int, limit: int) -> None:
        self.listing = listing
        self.fd = fd
        self.limit = None if w.FORCED in listing.verdicts else limit
        self.entries: dict[bytes, TreeEntry] = {}
        self.rows: dict[bytes, tuple[Any, ...]] = {row[0]: row for row in listing.rows}
        self.racy: set[bytes] = set()
        self.outgrown: set[bytes] = set()  # too large since they were listed
        self.databases: set[bytes] = set()  # of SQLite, written a moment ago, not read yet
        self.settled = True  # else the next scan must look again


class _UncompressedBlobs:
    """What has been read, uncompressed: somebody waits, and is told before it is stored."""

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
    """Every directory is dealt with once, after all that lie in it, and then let go: a first look at a
    million files must not have all of them in memory twice."""

    def __init__(self, root: bytes, rules: Rules, cache: ScanCache, store: ObjectStore | None,
                 keep: bool, known: KnownDirs, found: w.WalkResult, racy_from: int,
                 progress: Progress | None, moment: Moment | None = None,
                 all_read: Callable[[], None] | None = None) -> None:
        """`all_read` is called as soon as nothing more will be read, and before the rest is done."""
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
            self.out.monitored = ""  # nobody tells what happens where nobody may look
        self.progress = progress
        self.moment = moment
        self.done, self.total = 0, sum(len(one.rows) for one in found.changed.values())
        self.stats: dict[bytes, bytes] = {}  # of the directories at hand: what the last scan saw in them
        self.at_hand: set[bytes] = set()  # trees of the last scan, directly in them, that are in the store
        self.waiting: dict[bytes, bytes] = {}  # new trees that are not stored yet
        self.inside: dict[bytes, list[bytes]] = {}  # directory as it was -> those in it that are not
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
                    self._make(folder, opened)
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
        """At least so much will be read: directories that the last scan did not see."""
        return sum(row[1] for folder, listing in self.found.changed.items() if folder not in self.known.sigs
                   for row in listing.rows if not w.is_dir_row(row))

    def _bottom_up(self) -> list[bytes]:
        """What changed and all above it. In this order a directory follows all that lie in it, and they
        follow each other."""
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
                self.inside.setdefault(above, []).append(folder)
        return sorted(folders, key=lambda folder: folder and folder + b"/", reverse=True)

    # what is known of them

    def _fetch(self, folders: list[bytes]) -> None:
        """What the last scan left behind, in a few questions: one for each directory would take longer
        than reading what has changed."""
        if not self.known.sigs:
            return
        self.known.fetch(folders)
        changed = [folder for folder in folders if folder in self.found.changed]
        self.stats = self.cache.stats(changed)
        if self.store:
            rows = (self.known.get(folder) for folder in folders)
            for oid, blob in self.store.get_many({row.tree for row in rows if row} - self.out.blobs.keys()):
                self._hold(oid, blob)
        self.at_hand = set()
        self._fetch_below(changed)

    def _fetch_below(self, folders: list[bytes]) -> None:
        below = [w.join(folder, name) for folder in folders for name in self._children(folder)]
        self.known.fetch(below)
        if self.store:
            rows = (self.known.get(folder) for folder in below)
            self.at_hand |= self.store.find_existing(row.tree for row in rows if row)

    def _hold(self, oid: bytes, blob: bytes) -> None:
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
        """None where nothing changed in it, and where nothing can be read."""
        listing = self.found.changed.get(folder)
        opened = self._look_into(listing) if listing else None
        if opened and self.moment and self.moment.is_over():
            self._leave_open(opened)
        return opened

    def _make(self, folder: bytes, opened: _OpenDirectory | None) -> None:
        listing = self.found.changed.pop(folder, None)
        old = self.known.get(folder)
        if listing is None:
            if old is None:
                raise StoreDamaged(what="a directory that the last scan saw is not in it any more")
            if not self._take_over(folder, old):
                tree = self.out.tree(old.tree)
                entries = dict(tree.entries)
                self._fetch_below([folder])
                below, settled = self._give_trees(folder, entries)
                sig = old.sig if settled else b""
                self._note(folder, old, sig, old.marks, Tree(entries, tree.partial), below)
            return
        if opened is None:
            return
        entries = opened.entries
        below, settled = self._give_trees(folder, entries)
        sig = listing.sig if settled and opened.settled and not opened.racy else b""
        partial = PINS_ONLY if listing.mode == w.PINS_ONLY else b""
        self._note(folder, listing, sig, listing.marks(), Tree(entries, partial), below)
        self.out.stats[folder] = encode_stats([opened.rows[row[0]] for row in listing.rows], opened.racy)
        for name, entry in self._old_entries(folder).items():
            if entry.kind == DIR and (name not in entries or entries[name].kind != DIR):
                self.out.removed.append(w.join(folder, name))

    def _leave_open(self, opened: _OpenDirectory) -> None:
        """After the moment, beside what is found to have changed: what the last scan saw here and is gone, if
        the directory itself was changed; and all files of a database of which one was."""
        uncertain = set()
        if self.moment and self.moment.ended_before(os.fstat(opened.fd).st_ctime_ns):
            uncertain = self._old_entries(opened.listing.folder).keys() - opened.rows.keys()
        changed = {name for name, entry in opened.entries.items() if entry.ref == CHANGED} | uncertain
        groups = companions(opened.entries.keys() | uncertain)
        for main in {groups.get(name, name) for name in changed}:
            uncertain |= {main, *(name for name, of in groups.items() if of == main)}
        opened.entries.update((name, TreeEntry(UNCOVERED, 0, 0, CHANGED)) for name in uncertain)
        opened.settled = opened.settled and not uncertain

    def _take_over(self, folder: bytes, old: KnownDir) -> bool:
        """A directory in which nothing changed but what lies in those below it: its list gets their new
        trees. False where that is not all, or where it is not sure that the other trees are there."""
        blob = self.out.blobs.get(old.tree)
        if blob is None or not self.store or self.store.lost:
            return False
        trees: dict[bytes, bytes] = {}
        files, size, uncovered = old.files, old.size, old.uncovered
        for child in self.inside[folder]:
            made, before = self.out.known.get(child), self.known.get(child)
            if made is None or before is None:
                return False
            trees[os.path.basename(child)] = made.tree
            files += made.files - before.files
            size += made.size - before.size
            uncovered += made.uncovered - before.uncovered
        blob = with_trees(blob, trees)
        oid = self._put_blob(blob)
        self._hold(oid, blob)
        self.out.known[folder] = KnownDir(folder, old.env, old.sig, old.out_env, oid, files, size, uncovered,
                                         old.marks)
        return True

    def _give_trees(self, folder: bytes, entries: dict[bytes, TreeEntry]) -> tuple[list[KnownDir], bool]:
        """Each directory's entry gets its tree. Their rows, for the totals, and whether none is missing."""
        below = []
        settled = True
        for name, entry in list(entries.items()):
            if entry.kind != DIR:
                continue
            child = w.join(folder, name)
            reason = self.found.failed.get(child)
            if reason is None:
                known = self._below(child)
                entries[name] = TreeEntry(DIR, entry.mode, 0, known.tree)
                below.append(known)
                continue
            settled = False
            del entries[name]
            if reason:
                entries[name] = TreeEntry(UNCOVERED, 0, 0, reason)
        return below, settled

    def _below(self, folder: bytes) -> KnownDir:
        """The row of a directory, just made or from the cache; the latter only with its tree at hand. What
        lies in a tree is as sure as the tree is: objects are deleted when nothing points at them."""
        fresh = self.out.known.get(folder)
        if fresh is not None:
            return fresh
        known = self.known.get(folder)
        if known is None or not (self.store is None or known.tree in self.at_hand):
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

    def _note(self, folder: bytes, under: KnownDir | w.Listing, sig: bytes, marks: bytes, tree: Tree,
              below: list[KnownDir]) -> None:
        """The row of a directory that is made; `under` tells by which rules."""
        values = tree.entries.values()
        files = [e for e in values if e.kind in FILES or e.kind == LINK]
        self.out.known[folder] = KnownDir(
            folder, under.env, sig, under.out_env, self._put(tree), len(files) + sum(k.files for k in below),
            sum(e.size for e in files) + sum(k.size for k in below),
            sum(e.kind == UNCOVERED for e in values) + sum(k.uncovered for k in below), marks)

    # reading one directory

    def _look_into(self, listing: w.Listing) -> _OpenDirectory | None:
        """None when a link is in its place, or on the way to it, since it was listed."""
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
            elif not self._reused(opened, row, None if verdict == w.FORCED else stats.get(name),
                                  old.get(name)):
                to_read.append(row)
        self._read(opened, to_read)
        self.done += len(listing.rows) - len(to_read)
        return opened

    def _reused(self, opened: _OpenDirectory, row: tuple[Any, ...], stat: tuple[tuple[int, ...], bool] | None,
                entry: TreeEntry | None) -> bool:
        """Whether it need not be read, for it is as the last scan saw it; or it is a link."""
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
        sink = self._reads_into()
        for number, row in enumerate(rows):
            if self.progress and not number % 64:
                self.progress("Reading files", self.done, self.total)
            self._take(opened, row[0], read_file(row[0], sink, row[1:], opened.fd, opened.limit,
                                                 row[0] in opened.racy))
            self.done += 1
        if rows:
            self._settle_databases(opened)

    def _reads_into(self) -> BlobSink | None:
        return self.uncompressed if self.uncompressed and self.sink else self.sink

    def _read_link(self, opened: _OpenDirectory, name: bytes) -> None:
        try:
            target = os.readlink(name, dir_fd=opened.fd)
            row = signature(os.lstat(name, dir_fd=opened.fd)) if self.moment else ()
        except OSError:
            opened.settled = False  # gone, or no longer a link: the next scan sees what it is
            if self.moment and self.moment.is_over():
                opened.entries[name] = TreeEntry(UNCOVERED, 0, 0, CHANGED)
            return
        if self.moment and self.moment.has_changed(opened.rows[name][1:], row):
            opened.settled = False
            opened.entries[name] = TreeEntry(UNCOVERED, 0, 0, CHANGED)
            return
        opened.entries[name] = TreeEntry(LINK, 0, len(target), target)

    def _take(self, opened: _OpenDirectory, name: bytes, read: Read) -> None:
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
        """A database and its journal were read one after the other: make sure they fit together."""
        groups = companions(opened.entries.keys() | opened.databases)
        for main in opened.databases.union(groups.values()):
            members = [main, *(n for n, m in groups.items() if m == main)]
            if main in opened.databases or (not opened.racy.isdisjoint(members)
                                            and is_database_at(main, opened.fd)):
                self._copy_database(opened, main)
            else:
                self._settle_group(opened, members)

    def _copy_database(self, opened: _OpenDirectory, main: bytes) -> None:
        """One that somebody may be writing to. The index of its WAL (`-shm`) is left as it was read: whoever
        opens the database makes it anew."""
        from rewind.snapshot.scan.sqlite_copy import TooLarge, copy_database

        names = [main, main + b"-journal", main + b"-wal"]
        opened.settled = False
        opened.racy.update(names)  # to be read again next time, whatever they look like then
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
            self._take(opened, main, failed(UNREADABLE))
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
            kind, size, ref = store_pieces(file.pieces(), self._reads_into())
            opened.entries[name] = TreeEntry(kind, file.signature[4] & 0o7777, size, ref)
        copied.close()
        if copied.torn:
            self.out.torn.append(w.join(opened.listing.folder, main))

    def _is_late(self, opened: _OpenDirectory, name: bytes, found: tuple[int, ...]) -> bool:
        """Whether a file changed after the moment that the snapshot is of."""
        listed = opened.rows[name][1:] if name in opened.rows else ()
        return bool(self.moment and self.moment.has_changed(listed, found))

    def _now_ns(self) -> int:
        """The clock of the file system, or a little before it."""
        return self.racy_from + RACY_NS + time.monotonic_ns() - self.since

    def _settle_group(self, opened: _OpenDirectory, members: list[bytes]) -> None:
        for _ in range(_TRIES):
            if not any(_moved(opened, name) for name in members):
                break
            for name in members:
                opened.entries.pop(name, None)
                self._take(opened, name, read_file(name, self._reads_into(), None, opened.fd, opened.limit))
        if any(name in opened.entries and opened.entries[name].ref == CHANGED for name in members):
            # One of them without the others would not be a database.
            opened.entries.update((name, TreeEntry(UNCOVERED, 0, 0, CHANGED)) for name in members)
        if opened.outgrown.intersection(members):
            real = real_group(members, opened.fd)
            if opened.outgrown.intersection(real):
                opened.entries.update((name, TreeEntry(UNCOVERED, 0, 0, TOO_LARGE)) for name in real
                                      if name in opened.entries)


def _moved(opened: _OpenDirectory, name: bytes) -> bool:
    if name not in opened.entries or opened.entries[name].kind not in FILES:
        return False
    try:
        st = os.stat(name, dir_fd=opened.fd, follow_symlinks=False)
    except OSError:
        return True
    return opened.rows[name][1:3] != (st.st_size, st.st_mtime_ns)
