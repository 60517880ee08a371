"""A scan with Watchman's help. Any doubt leads to a whole walk, as without Watchman.

Its clock is always read before the walk. What happens in between is reported again the next time.
"""

from __future__ import annotations

import os
import time

from rewind.fast.blake2 import digest
from rewind.files import on_local_disk
from rewind.snapshot.rules.rules import bytes_of, text_of
from rewind.snapshot.scan.walk import Walker, WalkResult, join
from rewind.snapshot.trees.tree import DIR
from rewind.snapshot.watchman.changes import begin, changes_since
from rewind.snapshot.watchman.known import load_on_demand
from rewind.snapshot.watchman.memory import MonitorState, read_state
from rewind.snapshot.watchman.partial_walk import PartialWalker
from rewind.snapshot.watchman.places import have_moved_directories
from rewind.snapshot.watchman.server import NoAnswer, Refused, Server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rewind.snapshot.rules.rules import Rules
    from rewind.snapshot.scan.build import Snapshot
    from rewind.snapshot.scan.cache import KnownDirs, ScanCache
    from rewind.snapshot.watchman.changes import Changes

SCANS, SECONDS = 50, 86_400.0  # how often a whole walk checks what Watchman reports
_MOST_CHANGES = 5_000  # with more, two processes that walk everything are as fast


class Monitor:
    """For one scan. Afterwards, `missed` has the paths whose changes Watchman did not report."""

    def __init__(self, root: bytes, socket: str, files: int, *, check: bool = False) -> None:
        """With `check`, walk everything in any case, and compare."""
        self._root = root
        self._socket = socket
        self._seconds = 0.2 + files * 1e-6  # a small part of the time of a walk
        self._check = check
        self._server: Server | None = None
        self.missed: list[bytes] = []
        self._reset()

    def _reset(self) -> None:
        self.close()
        self.why = ""  # why everything was walked
        self._since: MonitorState | None = None
        self._next: MonitorState | None = None
        self._from_last_scan = ""
        self._mixed_up = False  # whether directories have changed places
        self._unreported: set[bytes] = set()  # directories whose changes Watchman did not report

    def close(self) -> None:
        if self._server:
            self._server.close()
        self._server = None

    # the walk

    def walk(self, rules: Rules, cache: ScanCache, top: int, processes: int) -> tuple[KnownDirs, WalkResult]:
        self._reset()
        try:
            changes = self._ask(rules, cache)
        except NoAnswer as doubt:
            self.why, self._next, changes = str(doubt), None, None
        found = self._walk_some(rules, cache, top, changes) if changes else None
        if found and not self._is_due():
            return found
        known = cache.load(top)
        everything = Walker(self._root, rules, known).run(processes)
        if self._next:
            self._next.walked, self._next.scans = time.time(), 0
        if self._mixed_up or have_moved_directories(cache, known, everything.changed):
            self.why, self._mixed_up = self.why or "directories have changed places", True
        elif found:
            self.why = "it is time to check"
            self._unreported = everything.changed.keys() - found[1].changed.keys()
        return known, everything

    def _ask(self, rules: Rules, cache: ScanCache) -> Changes | None:
        """What changed since the last scan. If nobody knows, None, and `_next` is what to ask the next
        time."""
        self._from_last_scan = cache.monitored()
        if _has_mount_below(self._root):
            raise NoAnswer("another file system is mounted in the project")
        self._server = Server(self._socket, self._seconds)
        state = read_state(self._from_last_scan)
        about = self._about(rules)
        changes = self._changes(state) if state and state.about == about else None
        if changes is None or state is None:
            self.why = self.why or "Watchman does not know what changed"
            if not on_local_disk(os.fsdecode(self._root)):
                raise NoAnswer("the project is not on a local disk")
            self._next = begin(self._server, self._root, about, time.time())
            # Nobody knows whether Watchman has mixed up directories before.
            self._mixed_up = state is None
            return None
        self._since, self._next = state, state.after(changes.clock, changes.warning)
        return changes

    def _changes(self, state: MonitorState) -> Changes | None:
        assert self._server
        try:
            return changes_since(self._server, state)
        except Refused as refused:  # perhaps it does not watch this directory any more
            self.why = str(refused)
            return None

    def _about(self, rules: Rules) -> str:
        """Identifies the directory itself, not only its path, and the pins, which are not in an ignore
        file."""
        info = os.stat(self._root)
        return f"{info.st_dev}:{info.st_ino}:{digest(b'/'.join(sorted(rules.pins))).hex()}"

    def _walk_some(self, rules: Rules, cache: ScanCache, top: int,
                   changes: Changes) -> tuple[KnownDirs, WalkResult] | None:
        """Only walk what changed. None if that is not enough."""
        assert self._since
        known = load_on_demand(cache, top)
        row = known.get(b"")
        failed = {bytes_of(path) for path in self._since.failed}
        wanted = {*changes.paths, *map(bytes_of, self._since.nested), *failed, *cache.unsettled()}
        if row is None or row.env != rules.digest or b"" not in wanted or len(wanted) > _MOST_CHANGES:
            self.why = "the rules changed, or too many paths did"
            return None
        if len(wanted) == 1 and row.sig:
            return known, WalkResult()
        # In one process only: a second one could not use the cache, which this walk needs all the time.
        found = PartialWalker(self._root, rules, known, wanted, failed | changes.new_dirs).run(1)
        self._mixed_up = have_moved_directories(cache, known, found.changed)
        return None if self._mixed_up else (known, found)

    def _is_due(self) -> bool:
        assert self._since
        age = time.time() - self._since.walked
        return self._check or self._since.scans + 1 >= SCANS or not 0 <= age < SECONDS

    # afterwards

    def finish(self, snapshot: Snapshot, known: KnownDirs, found: WalkResult) -> None:
        """Put into `snapshot` what the next scan asks. It takes effect when the cache is written."""
        self.missed = self._missed(snapshot, known) if self._unreported else []
        state = self._next
        if state is None:
            snapshot.monitored = "" if self._mixed_up else self._from_last_scan
            return
        state.nested = [text_of(path) for path in found.nested]
        state.failed = [text_of(path) for path in found.failed]
        folders = {*snapshot.known, *known.paths()}.difference(snapshot.removed)
        blind = _ignores_some_of(state, folders)
        text = "" if blind or self.missed else state.dumps()
        snapshot.monitored = text if text and (not self._mixed_up or self._crawls_again(state)) else ""

    def _crawls_again(self, state: MonitorState) -> bool:
        """Make Watchman look at everything again. Watchman 4.9 may mix up directories that quickly change
        places. Until it looks again, it reports changes in them under another name or not at all. From then
        on its answers contain a warning that is not in `state`, so the next scan walks everything as well."""
        assert self._server
        try:
            self._server.ask("debug-recrawl", state.watch)
        except NoAnswer:
            return False
        return True

    def _missed(self, snapshot: Snapshot, known: KnownDirs) -> list[bytes]:
        """What really differs, not only in a time, without what happened after Watchman was asked."""
        differs = [path for folder in sorted(self._unreported)
                   for path in _differing(snapshot, known, folder)]
        if not differs or not self._server or not self._since:
            return []
        try:
            reported = changes_since(self._server, self._since)
        except NoAnswer:
            reported = None
        return [path for path in differs if path not in reported.paths] if reported else []


def _differing(snapshot: Snapshot, known: KnownDirs, folder: bytes) -> Iterator[bytes]:
    before, now = known.get(folder), snapshot.known.get(folder)
    if before is None or now is None:
        return  # its name is new or gone in the directory above, which shows the difference
    old, new = snapshot.tree(before.tree).entries, snapshot.tree(now.tree).entries
    for name in sorted(old.keys() | new.keys()):
        one, other = old.get(name), new.get(name)
        if one != other and not (one and other and one.kind == other.kind == DIR and one.mode == other.mode):
            yield join(folder, name)


def _ignores_some_of(state: MonitorState, folders: Iterable[bytes]) -> bool:
    """Whether Watchman ignores some of these directories."""
    names = {bytes_of(text[1:]) for text in state.ignored if text.startswith("/")}
    paths = {bytes_of(text) for text in state.ignored if not text.startswith("/")}
    return any(folder in paths or os.path.basename(folder) in names for folder in folders)


def _has_mount_below(root: bytes) -> bool:
    """According to the kernel's list. Watchman does not notice what others write to a network disk."""
    try:
        with open("/proc/self/mountinfo", "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return False
    inside = root.rstrip(b"/") + b"/"
    for plain, escaped in ((b"\\", b"\\134"), (b" ", b"\\040"), (b"\t", b"\\011"), (b"\n", b"\\012")):
        inside = inside.replace(plain, escaped)
    return any(line.split(b" ")[4].startswith(inside) for line in lines if line.count(b" ") > 4)
