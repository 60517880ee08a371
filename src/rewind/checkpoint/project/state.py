"""The open state directory of a project: settings, lock, stores, records and rules."""

from __future__ import annotations

import os
import stat

from rewind import jsonfile
from rewind.checkpoint.project.identity import enter_place
from rewind.checkpoint.project.known_stores import is_known
from rewind.checkpoint.records.record import RecordFiles
from rewind.config.load import load_settings, load_usable
from rewind.errors import (
    FormatTooNew,
    Locked,
    RewindError,
    StoreDamaged,
    StoreNotTrusted,
)
from rewind.files import on_local_disk, stamp_of
from rewind.index import MAIN
from rewind.lock import Lock, is_wanted
from rewind.paths import PLACES, STORE_FILE, Project, is_same_dir
from rewind.processes import process_start
from rewind.store.derived import DerivedDb

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from rewind.checkpoint.operation_log.operations import Operation, Operations
    from rewind.checkpoint.project.damage import Damage
    from rewind.checkpoint.project.known_forks import KnownForks
    from rewind.checkpoint.records.timeline import Timeline
    from rewind.config.load import Settings
    from rewind.jsonfile import JsonObject
    from rewind.snapshot.rules.rules import Rules
    from rewind.snapshot.scan.build import Progress, Snapshot
    from rewind.snapshot.scan.cache import ScanCache
    from rewind.store.objects import ObjectStore
    from rewind.transcript.find import Area

FORMAT = 2  # since format 2 there is `operations.jsonl`; earlier versions must not write here
DAMAGE_FILE = "damage.json"
DERIVED = "scan-cache.db"
LOCK, PLACE_LOCK = "lock", "place.lock"
_MAX_BYTES = 4 << 20


class State:
    """Everything that a command needs of one project. Each part, and the code for it, is loaded when it is
    first used: `list` needs few of them."""

    def __init__(self, project: Project, *, forgiving: bool = False,
                 settings: Settings | None = None, store: JsonObject | None = None) -> None:
        """`forgiving` ignores settings with problems in configuration files. `settings` and `store` (the
        content of `store.json`) are given by a caller that has read them already."""
        self.project = project
        self.place = project.place
        self.root = os.fsencode(project.root)
        self.store_info = read_store_file(project, store)
        if not is_known(project.home, self.store_info["id"], project):
            raise StoreNotTrusted(path=project.state)
        self.settings = settings or (load_usable(project.home, project.state)[0] if forgiving
                                     else load_settings(project.home, project.state))
        self.files = RecordFiles(project.path("checkpoints"))
        self._objects: ObjectStore | None = None
        self._derived: DerivedDb | None = None
        self._scanned: DerivedDb | None = None
        self._timeline: Timeline | None = None
        self._operations: dict[str, Operations] = {}  # by place
        self._forks: KnownForks | None = None
        self._small_files: dict[str, tuple[object, JsonObject]] = {}  # by path
        self.lock_now_ns: int | None = None
        self.held_store_lock: Lock | None = None  # while this process has it: see `locked.py`

    def on_shared_disk(self) -> bool:
        return not on_local_disk(self.project.state)

    @property
    def objects(self) -> ObjectStore:
        if self._objects is None:
            from rewind.store.objects import ObjectStore

            path = self.project.path("objects.db")
            # Without records there is nothing to lose, and an `init` that was killed may begin again.
            fresh = not self.files.extent()[0]
            self._objects = self._fresh_store(path) if fresh else ObjectStore(path)
            if not fresh:
                # A killed first checkpoint may not have done this.
                self._objects.make_durable(self.on_shared_disk)
            if os.path.exists(self.project.path(DAMAGE_FILE)):
                self._objects.lost = self.damage().objects
        return self._objects

    def _fresh_store(self, path: str) -> ObjectStore:
        """A store for the first checkpoint. A damaged one that an interrupted `init` left is deleted."""
        from rewind.store.objects import ObjectStore, remove_database

        if os.path.exists(path):
            try:
                store = ObjectStore(path, create=True)
                if store.is_sound():
                    return store
                store.close()
            except StoreDamaged:
                pass
            remove_database(path)
        return ObjectStore(path, create=True)

    @property
    def derived(self) -> DerivedDb:
        """The database of the whole store: the index of its records, and what was read from transcripts."""
        if self._derived is None:
            self._derived = self._derived_db(self.project.path(DERIVED))
        return self._derived

    @property
    def scanned(self) -> DerivedDb:
        """The database of this place: what its last scan saw."""
        if self.place == MAIN:
            return self.derived
        if self._scanned is None:
            enter_place(self.project)
            self._scanned = self._derived_db(self.project.own(DERIVED))
        return self._scanned

    def _derived_db(self, path: str) -> DerivedDb:
        shared = not os.path.exists(path) and self.on_shared_disk()
        return DerivedDb(path, self._objects_identity(), shared_disk=shared)

    def places(self) -> list[str]:
        """All places that ever had state here, the main one first."""
        try:
            names = sorted(os.listdir(self.project.path(PLACES)))
        except OSError:
            names = []
        return [MAIN, *(name for name in names if not name.startswith("."))]

    def scan_caches(self) -> Iterator[ScanCache]:
        """The scan caches of all places. None may refer to an object that is about to be deleted."""
        from rewind.snapshot.scan.cache import ScanCache

        yield self.cache
        for place in self.places():
            path = self._of(place).own(DERIVED)
            if place != self.place and os.path.lexists(path):
                db = self._derived_db(path)
                try:
                    yield ScanCache(db)
                finally:
                    db.close()

    def _objects_identity(self) -> str:
        """Identifies the object database, because facts about one are wrong for another in its place."""
        try:
            info = os.stat(self.project.path("objects.db"))
        except FileNotFoundError:
            return str(self.store_info["id"])
        return f"{self.store_info['id']} {info.st_ino}"

    def forget_derived(self) -> None:
        """After a repair, unchanged files must be read again in every place."""
        for cache in self.scan_caches():
            cache.forget_all()
        self.derived.forget_everything()

    @property
    def cache(self) -> ScanCache:
        from rewind.snapshot.scan.cache import ScanCache

        return ScanCache(self.scanned)

    @property
    def timeline(self) -> Timeline:
        if self._timeline is None:
            from rewind.checkpoint.records.timeline import Timeline

            self._timeline = Timeline(self.files, self.derived, self.place)
        return self._timeline

    def refresh(self) -> None:
        """Read the records again, because other processes may have made some. They cannot while this process
        holds the lock."""
        if self.lock_now_ns is None:
            self.forget_timeline()

    def forget_timeline(self) -> None:
        self._timeline = None

    def operations(self, place: str = "") -> Operations:
        from rewind.checkpoint.operation_log.operations import FILE, OLD_FILE, Operations

        known = self.known_operations(place)
        if known is None:
            known = Operations(self.project.path(FILE), place or self.place, self.project.path(OLD_FILE))
            self._operations[known.place] = known
        return known

    def known_operations(self, place: str = "") -> Operations | None:
        """The log as it was read last, if it has not changed since."""
        known = self._operations.get(place or self.place)
        return known if known and known.is_current() else None

    def forks(self) -> KnownForks:
        """The forks that Rewind made, as `branches.json` has them now."""
        from rewind.checkpoint.project.known_forks import KnownForks  # a hook knows its session

        if self._forks is None or not self._forks.is_current():
            self._forks = KnownForks(self.project)
        return self._forks

    def read_json(self, path: str, limit: int) -> JsonObject:
        """The object in a small file, read again only if the file has changed; empty if there is no file. The
        caller must not change it."""
        stamp = stamp_of(path)
        known = self._small_files.get(path)
        if known is None or known[0] != stamp:
            known = self._small_files[path] = stamp, jsonfile.read_or_empty(path, limit)
        return known[1]

    def damage(self) -> Damage:
        """The damage that `validate --deep` found and could not repair."""
        from rewind.checkpoint.project.damage import Damage

        return Damage(self.project.path(DAMAGE_FILE))

    def interrupted(self) -> Operation | None:
        """The operation that a killed process left half done. An operation that another process is working on
        looks the same, but that process holds the lock."""
        found = self.operations().interrupted()
        if found and self.lock_now_ns is None:
            found = None if self.is_busy() else self.operations().interrupted()
        return found

    @property
    def staging(self) -> str:
        return self.project.own("staging")

    def can_release_store_lock(self) -> bool:
        """False in a project with only one place, in a store without checkpoints, and while objects are
        stored that no checkpoint refers to yet."""
        return bool(self.held_store_lock and len(self.places()) > 1 and self.files.extent()[0]
                    and not self.objects.is_writing)

    def dir_of(self, place: str) -> str:
        """The directory with a place's own state."""
        return self._of(place).place_dir

    def _of(self, place: str) -> Project:
        return Project(self.project.root, self.project.state, self.project.home, place, self.project.main)

    def begin_writing(self, now_ns: int, is_place_ours: bool) -> None:
        """The lock was taken: read everything again, and remove what killed processes left."""
        self.forget_timeline()
        self.lock_now_ns = now_ns
        self._sweep()
        if is_place_ours:
            self._sweep_staging()

    def end_writing(self) -> None:
        """Drop objects that were captured and not committed, so that a long-lived process does not keep the
        database's own lock."""
        self.lock_now_ns = None
        if self._objects:
            self._objects.rollback()

    def take_healed(self) -> set[bytes]:
        """Damaged objects that were stored again since the last call."""
        store = self._objects
        found = store.healed if store else set()
        if store and found:
            store.healed = set()
        return found

    def is_busy(self) -> bool:
        """Whether another process works in this place right now, or writes to the store."""
        try:
            with Lock(self.project.own(PLACE_LOCK), "look", wait=0), \
                    Lock(self.project.path(LOCK), "look", wait=0):
                return False
        except Locked:
            return True
        except OSError:
            return False

    def is_wanted(self) -> bool:
        """Whether somebody works here or waits for the lock. Upkeep pauses then."""
        return is_wanted(self.project.path(LOCK)) or is_wanted(self.project.own(PLACE_LOCK))

    def _sweep(self) -> None:
        """Remove what killed processes left in the state directory."""
        for folder in {self.project.state, self.project.place_dir}:
            for name in os.listdir(folder) if os.path.isdir(folder) else ():
                if _is_dead_draft(name) or _is_abandoned(name):
                    self._sweep_one(os.path.join(folder, name))

    def _sweep_staging(self) -> None:
        if os.path.isdir(self.staging):
            for name in os.listdir(self.staging):
                os.unlink(os.path.join(self.staging, name))

    def _sweep_one(self, path: str) -> None:
        if path.endswith(".unfinished"):
            from rewind.checkpoint.project.unfinished import remove_unfinished

            remove_unfinished(path)
        os.unlink(path)

    def close(self) -> None:
        for part in (self._objects, self._derived, self._scanned):
            if part:
                part.close()
        self._objects = self._derived = self._scanned = self._timeline = None

    # what is protected

    def look(self, rules: Rules | None = None, progress: Progress | None = None) -> Snapshot:
        """The project as it is now, without storing anything."""
        from rewind.snapshot.scan.scan import scan

        return scan(self.root, rules or self.rules(), self.cache, self.objects, keep=False, progress=progress)

    def rules(self) -> Rules:
        from rewind.config.ignore_list import builtin_ignore_patterns
        from rewind.snapshot.rules import gitfiles
        from rewind.snapshot.rules.rules import MB, Rules

        s = self.settings
        home = os.fsencode(os.path.expanduser("~"))
        top = gitfiles.work_tree_top(self.root)
        return Rules(
            builtin=builtin_ignore_patterns(),
            excludes=gitfiles.global_excludes(home, os.environ, top),
            prefix=_below(top, self.root) if top else b"",
            outer=_outer_ignores(self.root, top), policy=s.get("ignored"),
            file_bytes=int(s.get("ignoredFileMaxKb") * 1024), dir_files=s.get("ignoredDirMaxFiles"),
            dir_bytes=int(s.get("ignoredDirMaxMb") * MB), max_bytes=int(s.get("maxFileSizeMb") * MB),
            pins=self.pins(), hidden=self._hidden(), places=self._inside(top))

    def _hidden(self) -> list[bytes]:
        """Rewind's own files and directories in the project."""
        from rewind.project_marker import IN_AGENT

        inside = self.root.rstrip(b"/") + b"/"
        ours = {os.fsencode(os.path.realpath(p)) for p in (self.project.state, self.project.home)}
        ours |= {inside + os.fsencode(IN_AGENT)} if self.project.mode == "global" else set()
        return [path[len(inside):] for path in ours if path.startswith(inside)]

    def _inside(self, top: bytes | None) -> list[bytes]:
        """Other places inside this one, which are not part of it."""
        from rewind.snapshot.rules import gitfiles

        inside = self.root.rstrip(b"/") + b"/"
        others = {os.fsencode(path) for path in self._other_places()}
        others |= set(gitfiles.work_trees(top)) if top else set()
        return [path[len(inside):] for path in others if path.startswith(inside)]

    def area(self) -> Area:
        """The directories in which the sessions of this place begin."""
        from rewind.index import load_index
        from rewind.snapshot.rules.gitfiles import work_tree_top
        from rewind.transcript.find import Area

        root, main = self.project.root, self.project.main
        inside = [os.path.join(root, os.fsdecode(path)) for path in self._inside(work_tree_top(self.root))]
        known = load_index(self.project.home).paths(self.store_info["id"]) if self.place == MAIN else []
        others = [path for path in known
                  if path != root and (not os.path.isdir(path) or is_same_dir(path, root))]
        return Area([root, *others], inside, [main], self._forks_of_places())

    def _forks_of_places(self) -> dict[str, bool]:
        """Forks that Rewind made for a place -> whether it is this place. What their lines say does not
        count."""
        if len(self.places()) == 1:
            return {}
        try:
            forks = self.forks().all
        except RewindError:
            return {}  # `validate` reports what is wrong; the checkpoint is made anyway
        return {known["sessionId"]: known["place"] == self.place for known in forks
                if known.get("place")}

    def _other_places(self) -> list[str]:
        """Places that are not git work trees. The index knows where they are."""
        from rewind.index import load_index

        places = load_index(self.project.home).entry(self.store_info["id"]).get("places")
        return [path for path in places if path != self.project.root] if isinstance(places, dict) else []

    def pins(self) -> list[bytes]:
        try:
            pins = (jsonfile.read(self.project.path("pins.json"), _MAX_BYTES) or {})["pins"]
            return [p.encode("utf-8", "surrogateescape") for p in pins if is_inside(p)]
        except FileNotFoundError:
            return []
        except (ValueError, KeyError, TypeError, AttributeError):
            raise StoreDamaged(what=f"{self.project.path('pins.json')} is not readable",
                               hint="Move this file away and try again. Pinned files are pinned again when"
                                    " the agent edits them.")


def _is_dead_draft(name: str) -> bool:
    """Whether it is `.NAME.PID.tmp` of a process that has ended. Hooks write small files without the lock."""
    if not name.startswith(".") or not name.endswith(".tmp"):
        return False
    pid = name[: -len(".tmp")].rpartition(".")[2]
    return not pid.isdigit() or int(pid) == os.getpid() or process_start(int(pid)) is None


def _is_abandoned(name: str) -> bool:
    """Whether it is `temporary-PID….db` of a process that has ended. Readers of archives hold no lock."""
    if not name.startswith("temporary-"):
        return False
    pid = name[len("temporary-"):].split("-")[0].split(".")[0]
    return not pid.isdigit() or process_start(int(pid)) is None


def is_inside(path: str) -> bool:
    parts = path.split("/")
    return bool(path) and not any(part in ("", ".", "..") for part in parts) and "\0" not in path


def _outer_ignores(root: bytes, top: bytes | None) -> list[tuple[bytes, bytes]]:
    """Ignore rules of git from outside the project, lowest precedence first, each with the project's path
    relative to it."""
    if top is None:
        return []
    from rewind.snapshot.rules import gitfiles

    found = [(_below(top, root), gitfiles.info_exclude(top))]
    above = []
    folder = root
    while folder != top and len(folder) > len(top):
        folder = os.path.dirname(folder)
        above.append((_below(folder, root),
                      gitfiles.read_small(os.path.join(folder, b".gitignore"), follow=False)))
    return [(prefix, text) for prefix, text in (*found, *reversed(above)) if text]


def _below(folder: bytes, root: bytes) -> bytes:
    rest = root[len(folder):].strip(b"/")
    return rest + b"/" if rest else b""


def read_store_file(project: Project, known: JsonObject | None = None) -> JsonObject:
    """The content of `store.json`. A cloned repository may have planted the directory. `known` is the content
    if the caller has read it already."""
    outer = (project.state, os.path.dirname(project.state))
    if project.mode == "project" and any(stat.S_ISLNK(os.lstat(p).st_mode) for p in outer):
        raise RewindError(f"{project.state} is a symbolic link, which Rewind does not follow.",
                          hint="Remove the link, then run `rewind init`.")
    path = project.path(STORE_FILE)
    info = known or jsonfile.read(path, _MAX_BYTES)
    if info is None or not isinstance(info.get("id"), str):
        raise StoreDamaged(what=f"{path} is not readable",
                           hint="Move it away and run `rewind init --trust`; the checkpoints are kept.")
    found = info.get("format")
    if not isinstance(found, int) or found > FORMAT:
        raise FormatTooNew(what=path, found=found, known=FORMAT)
    return info
