"""The tree as it is now, in the store: content that no record refers to yet."""

from __future__ import annotations

import os

from rewind.checkpoint.project.locked import release_store_lock
from rewind.fast.blake2 import digest
from rewind.snapshot.git.head import git_head
from rewind.snapshot.rules.gitfiles import work_tree_top
from rewind.snapshot.scan.cache import ScanCache
from rewind.snapshot.scan.scan import scan
from rewind.store.objects import ObjectStore, remove_database

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Code
    from rewind.snapshot.rules.rules import Rules
    from rewind.snapshot.scan.build import Progress, Snapshot
    from rewind.snapshot.scan.moment import Moment
    from rewind.snapshot.watchman.monitor import Monitor

LARGE = 20_000  # files; a monitor is used only in larger projects


class Draft:
    """A captured snapshot without a record. `git`: where the HEAD of the user's repository is."""

    def __init__(self, snapshot: Snapshot, code: Code, git: dict[str, str | None] | None,
                 archive: ObjectStore | None) -> None:
        self.snapshot = snapshot
        self.code = code
        self.git = git
        self.archive = archive  # the temporary store from which an archive is written

    def close(self) -> None:
        if self.archive:
            self.archive.close()
            remove_database(self.archive.path)


def capture(state: State, rules: Rules, progress: Progress | None = None,
            moment: Moment | None = None, *, release_lock: bool = True, trusting: bool = False,
            all_read: Callable[[], None] | None = None) -> Draft:
    """Store the whole tree as it is now. The caller holds the lock. With `release_lock`, the store's lock is
    released during the scan, so that other places may write. With `trusting`, a monitor is believed if it
    says that nothing changed; otherwise it is checked. `all_read` is called once, when the project and the
    HEAD of the user's repository have been read."""
    if state.settings.get("storage.format") == "archive":
        return _capture_apart(state, rules, progress, moment, all_read)
    git: list[dict[str, str | None] | None] = []

    def note() -> None:
        git.append(_git(state))
        if all_read:
            all_read()

    store = state.objects
    before = store.added
    monitor = _monitor(state, rules, trusting)

    def scan_tree(all_read: Callable[[], None] | None = None) -> Snapshot:
        return scan(state.root, rules, state.cache, store, keep=True, now_ns=state.lock_now_ns,
                    progress=progress, moment=moment, monitor=monitor, all_read=all_read)

    try:
        if all_read and not (release_lock and state.can_release_store_lock()):
            snapshot = scan_tree(note)
        else:
            snapshot = _scan_without_store_lock(state, scan_tree) if release_lock else scan_tree()
            note()
        rules_id = _put_rules(state, rules, store)
    except BaseException:
        store.rollback()
        raise
    finally:
        if monitor:
            monitor.close()
    if monitor and monitor.missed:
        from rewind.checkpoint.save.watching import turn_off

        turn_off(state, monitor.missed)
    _sweep_leftovers(state, snapshot)
    return Draft(snapshot, _code(snapshot, "objects", rules_id, store.added - before), git[0], None)


def _monitor(state: State, rules: Rules, trusting: bool) -> Monitor | None:
    """None for a small project: there a walk takes less time than asking a monitor."""
    wanted = state.settings.get("scan.monitor")
    if wanted == "off" or rules.forced or (wanted == "auto" and state.cache.files() <= LARGE):
        return None
    from rewind.checkpoint.save.watching import monitor_for

    return monitor_for(state, check=not trusting)


def _scan_without_store_lock(state: State, scan_tree: Callable[[], Snapshot]) -> Snapshot:
    """Scan with the store's lock released. Meanwhile a collection may have deleted an object that the scan
    relies on, or a hook of an earlier version, which ignores the lock of the place, may have scanned. Then
    scan again with the lock."""
    version = state.cache.version()
    with release_store_lock(state):
        snapshot = scan_tree()
    if state.cache.version() == version and state.objects.has_all_relied_on():
        return snapshot
    return scan_tree()


def _sweep_leftovers(state: State, snapshot: Snapshot) -> None:
    """Delete temporary files of a restore that was killed. The lock ensures that nobody uses them."""
    if not snapshot.temps:
        return
    from rewind.snapshot.scan.folders import Folders

    with Folders(state.root) as folders:
        for path in snapshot.temps:
            folder, name = os.path.split(path)
            try:
                os.unlink(name, dir_fd=folders.fd(folder))
            except OSError:
                pass  # a directory with such a name is not ours


def _put_rules(state: State, rules: Rules, store: ObjectStore) -> bytes:
    """Store the rules. They are nearly always the same as last time, and then not hashed again."""
    blob = rules.to_json()
    quick = digest(blob)
    rows = state.scanned.query("SELECT value FROM facts WHERE key='rules'")
    if rows and rows[0][0][:16] == quick and store.has(rows[0][0][16:]):
        return bytes(rows[0][0][16:])
    oid = store.put(blob)
    state.scanned.write([("INSERT OR REPLACE INTO facts VALUES('rules', ?)", [(quick + oid,)])])
    return oid


def _capture_apart(state: State, rules: Rules, progress: Progress | None, moment: Moment | None,
                   all_read: Callable[[], None] | None) -> Draft:
    """Capture for an archive. It contains everything, so every file is read, into a temporary store."""
    store = ObjectStore(state.project.path(f"temporary-{os.getpid()}.db"), create=True)
    try:
        with release_store_lock(state):
            snapshot = scan(state.root, rules, ScanCache(None), store, keep=True,
                            now_ns=state.lock_now_ns, progress=progress, moment=moment)
        git = _git(state)
        if all_read:
            all_read()
        rules_id = store.put(rules.to_json())
        store.commit()
    except BaseException:
        store.close()
        remove_database(store.path)
        raise
    return Draft(snapshot, _code(snapshot, "archive", rules_id, 0), git, store)


def _git(state: State) -> dict[str, str | None] | None:
    return git_head(work_tree_top(state.root))


def _code(snapshot: Snapshot, form: str, rules_id: bytes, new_bytes: int) -> Code:
    code: Code = {"format": form, "tree": snapshot.root.hex(), "rules": rules_id.hex(),
                  "fileCount": snapshot.files, "totalSize": snapshot.bytes, "newBytes": new_bytes,
                  "uncovered": snapshot.uncovered}
    if snapshot.torn:
        from rewind.checkpoint.records.torn import names_to_record

        code["torn"] = names_to_record(snapshot.torn)
    return code
