"""Making the checkpoint of an event, and of the events that wait behind it. Import this only when there is a
checkpoint to make, because it imports all that a save needs."""

from __future__ import annotations

import os
import time

from rewind.agents.registry import each_profile, is_under_root
from rewind.checkpoint.project.state import State
from rewind.checkpoint.save.save import AUTO, save
from rewind.errors import StoreMoved
from rewind.hooks.making.queue import Request
from rewind.hooks.memory.hook_files_lock import HookFilesLock
from rewind.hooks.memory.hook_state import HookState
from rewind.hooks.transcript_path import own_transcript
from rewind.paths import find_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rewind.agents.profile import Profile
    from rewind.checkpoint.conversations.stored import Captured
    from rewind.checkpoint.save.capture import Draft
    from rewind.hooks.making.queue import Queue
    from rewind.hooks.making.work import CheckpointJob
    from rewind.transcript.find import SessionFile


_MOST_PINS = 10_000
_left_open: list[State] = []
_LONG_WAL = 512 << 10  # bytes; the next process would take half a millisecond to read them


class _AlreadyHandled(Exception):
    """Another process has taken care of the same event."""


class CheckpointSaver:
    """Makes the checkpoint of this hook, and those of other hooks. The databases stay open in between."""

    def __init__(self, work: CheckpointJob, queue: Queue) -> None:
        self._work = work
        self._queue = queue
        self._state = State(work.project, settings=work.settings, store=work.store)
        self.took = 0.0  # seconds, for the latest one

    def save_own(self) -> bool:
        """False if another process has taken care of the same event."""
        try:
            return self._save_own()
        except StoreMoved:  # it was moved while we waited for the lock
            project = self._work.project
            self._work.project = find_project(project.root, project.home) or project
            self._state = State(self._work.project, forgiving=True)
            return self._save_own()

    def _save_own(self) -> bool:
        work = self._work
        try:
            session = _session(work.event.profile, own_transcript(work.event))
            scan = _SharedScan(work, self._state, self._queue)
            return self._save(scan, session, work.outside, work.release_agent)
        except BaseException:
            self._state.close()
            raise

    def has_long_wal(self) -> bool:
        """Whether a WAL should be emptied once no agent waits any more."""
        return any(db.is_wal_over(_LONG_WAL) for db in (self._state.objects, self._state.scanned))

    def fold_wals(self) -> None:
        for db in (self._state.objects, self._state.scanned):
            if db.is_wal_over(_LONG_WAL):
                db.fold()

    def _save(self, scan: _SharedScan, session: SessionFile | None,
              outside: list[str] | None = None, captured: Callable[[], None] | None = None) -> bool:
        one = scan.first
        self._state.objects.folds = False
        self._state.scanned.defer_fold()
        try:
            save(self._state, one.description, kind=AUTO, trigger=one.trigger, session=session,
                 find_session=False, wait=self._work.seconds_left(), moment=one.moment, outside=outside,
                 when_locked=scan.begin, when_read=captured, before_unlock=scan.record_others)
        except _AlreadyHandled:
            return False
        self.took = time.monotonic() - scan.began
        # This process ends soon. If the databases were closed, SQLite would write each WAL back and delete
        # it: four syncs for a cache that may be lost. Left open, it does so only once in many times.
        if self._state not in _left_open:
            _left_open.append(self._state)
        return True

    def save_for(self, one: Request) -> None:
        scan = _SharedScan(one, self._state, self._queue)
        if not self._save(scan, _session_of(one, self._work.project.home)):
            one.mark_done()


class _SharedScan:
    """One scan with a record for whom it is made, and one for each hook that was waiting before it began."""

    def __init__(self, first: CheckpointJob | Request, state: State, queue: Queue) -> None:
        self.first = first
        self.began = time.monotonic()
        self._state = state
        self._queue = queue
        self._others: list[Request] = []
        self._is_late = False

    def begin(self) -> None:
        """Runs once the lock is held and before the scan."""
        first = self.first
        self.began = time.monotonic()
        if not first.claim_event():
            raise _AlreadyHandled
        if first.to_pin:
            _pin(self._state, first.to_pin)
        self._is_late = first.moment.is_over()
        now = time.monotonic()
        self._others = [one for one in self._queue.waiting() if (one.until <= now) is self._is_late
                        and not (isinstance(first, Request) and one.path == first.path)]
        if self._is_late:
            # What has changed since the first of these agents went on is uncertain for all of them.
            first.moment.end_at(min([first.moment.until, *(one.until for one in self._others)]))

    def record_others(self, draft: Draft) -> None:
        """The scan counts for each hook that waited until its end, and for those as late as the first one."""
        done = [self.first] if isinstance(self.first, Request) else []
        others = self._others_covered()
        if not done and not others:
            return
        seen = HookState(self._state.project.place_dir)
        for one in done:
            seen.claim(one.key)
        for one in others:
            if seen.claim(one.key):
                self._record(one, draft)
            done.append(one)
        self._note_seen(done)
        for one in done:  # after the keys: a hook that is not told finds that its event was seen
            one.mark_done()

    def _others_covered(self) -> list[Request]:
        if self.first.moment.is_over() is not self._is_late:
            return []
        done = time.monotonic()
        return [one for one in self._others if self._is_late or one.until > done]

    def _record(self, one: Request, draft: Draft) -> None:
        from rewind.checkpoint.save.create import write_record

        trigger = {**one.trigger, "late": True} if self._is_late else one.trigger
        write_record(self._state, draft, "auto", one.description, trigger, self._conversation(one))

    def _conversation(self, one: Request) -> Captured | None:
        session = _session_of(one, self._state.project.home)
        if session is None:
            return None
        from rewind.checkpoint.conversations.which_session import capture_current

        return capture_current(self._state, session)[0]

    def _note_seen(self, done: list[Request]) -> None:
        place_dir = self._state.project.place_dir
        with HookFilesLock(place_dir):
            hooks = HookState(place_dir)
            for one in done:
                hooks.claim(one.key)
                hooks.note_ended(one.pid)  # if that hook is killed now, its checkpoint is not missing
            hooks.save()


def _pin(state: State, paths: list[str]) -> None:
    """Have these files captured from now on, whatever the rules say. It does no harm if they are only new."""
    from rewind import jsonfile
    from rewind.checkpoint.records.seal import sealed

    pins = [path.decode("utf-8", "surrogateescape") for path in state.pins()]
    new = [path for path in paths if path not in pins]
    if new:
        data = {"format": 1, "pins": (pins + new)[-_MOST_PINS:]}
        jsonfile.write(state.project.path("pins.json"), sealed(data))


def _session_of(one: Request, home: str) -> SessionFile | None:
    profile = next((p for p in each_profile(home, forgiving=True) if p.name == one.agent), None)
    return _session(profile, one.transcript) if profile else None


def _session(profile: Profile, path: str) -> SessionFile | None:
    """The transcript, if it exists already and is where this agent keeps its sessions."""
    if not path or not is_under_root(profile, path):
        return None
    try:
        info = os.stat(path)
    except OSError:
        return None  # Claude Code creates the file after the first prompt
    from rewind.transcript.find import SessionFile

    return SessionFile(path, profile, info)
