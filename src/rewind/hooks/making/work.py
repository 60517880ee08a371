"""A checkpoint that a hook asks for: what it is for, how long the agent waits, and what became of it."""

from __future__ import annotations

import os
import time

from rewind.hooks.making.queue import Queue
from rewind.hooks.memory.hook_files_lock import HookFilesLock
from rewind.hooks.memory.hook_state import HookState
from rewind.hooks.memory.log import now
from rewind.hooks.transcript_path import own_transcript
from rewind.processes import is_zombie, process_start
from rewind.snapshot.scan.moment import Moment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rewind.checkpoint.project.missed import Begun
    from rewind.config.load import Settings
    from rewind.hooks.event import HookEvent
    from rewind.hooks.making.queue import RequestData
    from rewind.jsonfile import JsonObject
    from rewind.paths import Project

WAIT = 1.5  # seconds for the work to begin, from the start of the hook
PATIENCE = 10.0  # seconds for the work; then the hook leaves, and the work goes on
_LATE_WAIT = 60.0  # seconds for the work to begin if no hook waits for it
_LEAST = 0.25  # seconds for the work to begin, however long this process took to get here
# What the maker tells the hook.
BEGUN = b"*"
GOES_ON = b"captured"  # or made: no agent has to wait for what is left to do


class CheckpointFailed(Exception):
    """The checkpoint failed. `kind` is the name of the error's class."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"

    def encode(self) -> bytes:
        return f"{self.kind}\n{self.message}".encode("utf-8", "replace")


class CheckpointJob:
    """One checkpoint that is asked for. `made` and `failed` note in `hook-state.json` what became of it."""

    def __init__(self, event: HookEvent, project: Project, settings: Settings, store: JsonObject | None,
                 description: str, to_pin: list[str], outside: list[str], age: float,
                 made: Callable[[HookState, bool], None],
                 failed: Callable[[int, CheckpointFailed], None]) -> None:
        """`store`: what the hook read in `store.json`. `age`: how many seconds ago the hook began."""
        self.event = event
        self.project = project
        self.settings = settings
        self.store = store
        self.description = description
        self.to_pin = to_pin
        self.outside = outside
        self._made = made
        self.failed = failed
        self.trigger = event.trigger()
        self.at = now()
        self._began = time.monotonic() - age
        # What no checkpoint holds yet may be lost as soon as the agent goes on: that is worth a longer wait.
        self._needs_own_scan = bool(self.to_pin or self.outside)
        self.moment = Moment(max(_LEAST, (PATIENCE if self._needs_own_scan else WAIT) - age))
        self._tell: Callable[[bytes], None] | None = None
        self._can_leave = False
        self._has_left = False
        self.is_made = False

    def begin(self, tell: Callable[[bytes], None], can_leave: bool) -> None:
        """Called in the process or thread that makes it, and that tells the hook about it."""
        self._tell = tell
        # What no checkpoint holds yet has to be on the disk before the agent goes on.
        self._can_leave = can_leave and not self._needs_own_scan

    def queue(self) -> Queue:
        """Where it waits for its turn. Another hook may make it, unless it needs a scan of its own."""
        request = None if self._needs_own_scan else self._request
        return Queue(self.project.place_dir, request, self._began + _LATE_WAIT)

    def delay(self) -> float:
        """Seconds since the hook began."""
        return time.monotonic() - self._began

    def _request(self) -> RequestData:
        return {"until": self.moment.until, "key": self.event.key(), "trigger": self.trigger,
                "description": self.description, "agent": self.event.profile.name,
                "transcript": own_transcript(self.event)}

    def seconds_left(self) -> float:
        """Seconds in which the work may still begin."""
        return max(0.0, self._began + _LATE_WAIT - time.monotonic())

    def claim_event(self) -> bool:
        """False if another process handles the same event. The caller has the lock of the place."""
        with HookFilesLock(self.project.place_dir):
            hooks = HookState(self.project.place_dir)
            if not hooks.claim(self.event.key()):
                return False
            # If nobody here collects processes that have ended, each one would stay in the list of processes.
            self._can_leave = self._can_leave and not is_zombie(hooks.background_pid)
            hooks.note_begun(self._begun(os.getpid()))
            hooks.save()
            if not hooks.is_late(os.getpid()):
                self._tell_begun()
            return True

    def _tell_begun(self) -> None:
        assert self._tell
        try:
            self._tell(BEGUN)
            self.has_begun()
        except OSError:
            self.moment.end_at(time.monotonic())  # the hook was killed, so the agent may be working

    def release_agent(self) -> None:
        """Everything has been read, so the agent may go on while the checkpoint is written."""
        if self._can_leave and not self.moment.is_over():
            assert self._tell
            self._has_left = True
            self._tell(GOES_ON)

    def has_begun(self) -> None:
        self.moment.end_at(self._began + PATIENCE)

    def note_late(self, pid: int) -> None:
        """The hook leaves while the work goes on: from now on `list` shows the checkpoint as late."""
        hooks = HookState(self.project.place_dir)
        hooks.note_begun(self._begun(pid), late=True)
        hooks.save()

    def note_ended(self, pid: int) -> None:
        hooks = HookState(self.project.place_dir)
        hooks.note_ended(pid)
        hooks.save()

    def is_late(self) -> bool:
        return HookState(self.project.place_dir).is_late(os.getpid())

    def note_made(self) -> bool:
        """Called by the process that made it, within `HookFilesLock`. Whether its hook had called it late."""
        hooks = HookState(self.project.place_dir)
        is_late = hooks.is_late(os.getpid())
        hooks.note_ended(os.getpid())
        if self._has_left:
            hooks.background_pid = os.getpid()
        if self.is_made:
            self._made(hooks, self.moment.is_over())
        hooks.save()
        return is_late

    def _begun(self, pid: int) -> Begun:
        # Without /proc, only `ps` knows the start of a process, and it takes as long as a checkpoint.
        start = process_start(pid) if os.path.exists("/proc/self/stat") else ""
        return {"at": self.at, "event": self.event.name, "session": self.event.session, "pid": pid,
                "start": start or "", "description": self.description}


def age_of_process() -> float:
    """How many seconds ago this process began, if the system tells that without starting another process."""
    if not os.path.exists("/proc/self/stat"):
        return 0.0
    try:
        began = int(process_start(os.getpid()) or 0) / os.sysconf("SC_CLK_TCK")
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - began
    except (AttributeError, OSError, ValueError):
        return 0.0
    return age if 0 <= age < PATIENCE else 0.0
