"""The checkpoint that a hook makes. The agent waits until all of it has been read, not until it is written,
and never longer than a hook may take.

The shell script that agents call waits for the hook's process, and ends early when it is told to. So a second
thread of that process makes the checkpoint, and the first one watches the clock. A hook that was started
without the script cannot leave its caller like that. It forks a process for the checkpoint, and waits until
that one has written it.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock, stack_size, start_new_thread

from rewind.files import close_all_but, detach, drop_streams, is_unburied, leave_session, process_start
from rewind.hooks import TELL
from rewind.hooks.making.queue import Queue
from rewind.hooks.memory.hook_state import HookState
from rewind.hooks.memory.in_turn import InTurn
from rewind.hooks.memory.log import now
from rewind.hooks.transcript_path import own_transcript
from rewind.snapshot.scan.moment import Moment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rewind.config.load import Settings
    from rewind.hooks.decide import Decision
    from rewind.hooks.event import HookEvent
    from rewind.hooks.making.checkpoint import Making
    from rewind.hooks.making.service import Service
    from rewind.paths import Project

_WAIT = 1.5  # seconds for the work to begin, from the start of the hook
_PATIENCE = 10.0  # seconds for the work, then it goes on without us
_LATE_WAIT = 60.0  # seconds for the work to begin where no hook waits for it
# Seconds from the start of a hook to its turn, where a lone one takes 0.03: others may be on their way. After
# more than that they have no time left to wait for anybody.
_CROWDED, _TOO_CROWDED = 0.15, 1.0
_LEAST = 0.25  # seconds, however long it took this process to get here
_BEGUN, _MADE = b"*", b"made"
_GOES_ON = b"captured"  # or made: whatever is left to do, no agent has to wait for it
_MOST = 4096  # bytes of an answer
_GLANCE = 0.1  # seconds between two looks at whether anybody still waits
_STACK = 16 << 20  # bytes; some systems give a thread too little for a deep tree


class NotMade(Exception):
    """The checkpoint failed: what kind of error it was, and what it said."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"

    def answer(self) -> bytes:
        return f"{self.kind}\n{self.message}".encode("utf-8", "replace")


class Work:
    """One checkpoint, as it is asked for. `made` and `failed` say in `hook-state.json` what became of it."""

    def __init__(self, event: HookEvent, project: Project, settings: Settings, decision: Decision,
                 fresh: list[str], made: Callable[[HookState, bool], None],
                 failed: Callable[[int, NotMade], None], outside: list[str] | None = None,
                 age: float = 0.0) -> None:
        """`age`: how many seconds ago the hook began."""
        self.event = event
        self.project = project
        self.settings = settings
        self.decision = decision
        self.fresh = fresh
        self.outside = outside or []
        self._made = made
        self.failed = failed
        self.trigger: dict[str, Any] = event.trigger()
        self.at = now()
        self._began = time.monotonic() - age
        # What no checkpoint holds yet is gone for good once the agent goes on: that is worth a longer wait.
        self._is_alone = bool(self.fresh or self.outside)
        self.moment = Moment(max(_LEAST, (_PATIENCE if self._is_alone else _WAIT) - age))
        self._tell: Callable[[bytes], None] | None = None
        self._can_leave = False
        self._has_left = False
        self._is_made = False

    def make(self, tell: Callable[[bytes], None], can_leave: bool) -> Callable[[], None] | None:
        """In the process or thread that makes it, which tells the hook about it. What is returned is to be
        done once the agent has gone on."""
        self._tell = tell
        self._can_leave = can_leave and not self._is_alone  # else it has to be on the disk
        request = None if self._is_alone else self._request
        with Queue(self.project.place_dir, request, self._began + _LATE_WAIT) as queue:
            delay = time.monotonic() - self._began
            making = None if queue.is_done else self._make(queue)
            self._is_made = queue.is_done or making is not None
            return self._rest(making, queue, delay) if making else None

    def _make(self, queue: Queue) -> Making | None:
        """None where another process takes care of the same event."""
        from rewind.hooks.making.checkpoint import Making

        making = Making(self, queue)
        return making if making.own() else None

    def _rest(self, making: Making, queue: Queue, delay: float) -> Callable[[], None] | None:
        service = self._service(making, queue, delay)
        if service is None:
            return making.fold if making.is_long() else None

        def rest() -> None:
            service.run()
            making.fold()

        return rest

    def _service(self, making: Making, queue: Queue, delay: float) -> Service | None:
        """Where others wait or may be on their way: many are at work if it took this long to get here."""
        stay = delay if _CROWDED < delay < _TOO_CROWDED and making.took < _CROWDED else 0.0
        if not stay and not queue.waiting():
            return None
        from rewind.hooks.making.service import Service

        service = Service(making, queue, stay)
        if not service.can_serve(queue.waiting()):
            return None
        queue.keep()
        return service

    @property
    def description(self) -> str:
        return self.decision.description

    def _request(self) -> dict[str, Any]:
        return {"until": self.moment.until, "key": self.event.key(), "trigger": self.trigger,
                "description": self.decision.description, "agent": self.event.profile.name,
                "transcript": own_transcript(self.event)}

    def left(self) -> float:
        """Seconds in which the work may still begin, whoever waits for it."""
        return max(0.0, self._began + _LATE_WAIT - time.monotonic())

    def is_first(self) -> bool:
        """Told twice at the same moment, an event is handled once. The caller has the lock and begins now."""
        with InTurn(self.project.place_dir):
            hooks = HookState(self.project.own("hook-state.json"))
            if not hooks.claim(self.event.key()):
                return False
            # Where nobody waits for processes that were left, each of them would stay in the system's list.
            self._can_leave = self._can_leave and not is_unburied(hooks.left)
            hooks.note_begun(self._begun(os.getpid()))
            hooks.save()
            if not hooks.is_late(os.getpid()):
                self._tell_begun()
            return True

    def _tell_begun(self) -> None:
        assert self._tell
        try:
            self._tell(_BEGUN)
            self.has_begun()
        except OSError:
            self.moment.end_at(time.monotonic())  # the hook was killed, so the agent may be at work

    def let_go(self) -> None:
        """All that the checkpoint consists of has been read, so the agent may go on while it is written."""
        if self._can_leave and not self.moment.is_over():
            assert self._tell
            self._has_left = True
            self._tell(_GOES_ON)

    def has_begun(self) -> None:
        self.moment.end_at(self._began + _PATIENCE)

    def note_late(self, pid: int) -> None:
        """The hook goes, the work goes on: from here on `list` shows it."""
        hooks = HookState(self.project.own("hook-state.json"))
        hooks.note_begun(self._begun(pid), late=True)
        hooks.save()

    def note_ended(self, pid: int) -> None:
        hooks = HookState(self.project.own("hook-state.json"))
        hooks.note_ended(pid)
        hooks.save()

    def is_late(self) -> bool:
        return HookState(self.project.own("hook-state.json")).is_late(os.getpid())

    def note_made(self) -> bool:
        """By the process that made it, within its turn. Whether its hook had called it late."""
        hooks = HookState(self.project.own("hook-state.json"))
        is_late = hooks.is_late(os.getpid())
        hooks.note_ended(os.getpid())
        if self._has_left:
            hooks.left = os.getpid()
        if self._is_made:
            self._made(hooks, self.moment.is_over())
        hooks.save()
        return is_late

    def _begun(self, pid: int) -> dict[str, Any]:
        # Elsewhere the start of a process is known to `ps` alone, which takes as long as a checkpoint.
        start = process_start(pid) if os.path.exists("/proc/self/stat") else ""
        return {"at": self.at, "event": self.event.name, "session": self.event.session, "pid": pid,
                "start": start or "", "description": self.decision.description}


def age_of_process() -> float:
    """How many seconds ago this process began, where the system tells that without another process."""
    if not os.path.exists("/proc/self/stat"):
        return 0.0
    try:
        began = int(process_start(os.getpid()) or 0) / os.sysconf("SC_CLK_TCK")
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - began
    except (AttributeError, OSError, ValueError):
        return 0.0
    return age if 0 <= age < _PATIENCE else 0.0


def in_time(work: Work, script: int = 0) -> Callable[[], None] | None:
    """Have it made, and wait only so long: by the clock, whatever it is that takes long. `script` is the
    process that waits for this one. What is returned is to be called last: it lets the agent go, and stays
    until the work is done. Raises what went wrong, if that is known in time."""
    maker = _Thread(work, script) if script and script == os.getppid() else _Process(work)
    answer = _listen(work, maker)
    if answer is None or answer == _GOES_ON:
        return maker.leave
    maker.wait()
    if answer != _MADE:
        kind, _, message = answer.decode("utf-8", "replace").partition("\n")
        error = NotMade(kind, message) if kind else NotMade("Killed", "the process that saved was killed")
        work.failed(maker.pid, error)
        raise error
    return None


class _Process:
    """A client kills the hook that it started, not this."""

    def __init__(self, work: Work) -> None:
        self._out, self._into = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self._run(work)
        os.close(self._into)

    def _run(self, work: Work) -> None:
        try:
            detach(self._into)
            InTurn.wait = _PATIENCE  # no agent waits for this process, and a note is worth a wait
            _make(work, self._tell, can_leave=False)
        finally:
            os._exit(0)

    def _tell(self, what: bytes) -> None:
        os.write(self._into, what)

    def heard(self, seconds: float) -> bytes | None:
        import select

        until = time.monotonic() + seconds
        while True:
            try:
                ready, _, _ = select.select([self._out], [], [], max(0.0, until - time.monotonic()))
            except InterruptedError:
                continue
            return os.read(self._out, _MOST) if ready else None

    def is_abandoned(self) -> bool:
        return False

    def wait(self) -> None:
        os.close(self._out)
        os.waitpid(self.pid, 0)

    def leave(self) -> None:
        """It goes on by itself."""
        os.close(self._out)


class _Thread:
    """Within this process, of which a client knows only the script that waits for it."""

    def __init__(self, work: Work, script: int) -> None:
        self.pid = os.getpid()
        self._script = script
        self._said: list[bytes] = []
        self._is_left = False
        self._news, self._free, self._ended = allocate_lock(), allocate_lock(), allocate_lock()
        for lock in (self._news, self._free, self._ended):
            lock.acquire()
        leave_session()
        close_all_but(TELL)
        os.chdir("/")
        stack_size(_STACK)
        start_new_thread(self._run, (work,))

    def _run(self, work: Work) -> None:
        try:
            _make(work, self._tell, can_leave=True)
        finally:
            self._ended.release()

    def _tell(self, what: bytes) -> None:
        if self._is_left:
            raise BrokenPipeError
        self._is_left = what == _GOES_ON
        self._said.append(what)
        if self._news.locked():
            self._news.release()
        if what == _BEGUN and self.is_abandoned():
            raise BrokenPipeError
        if self._is_left:
            self._free.acquire(timeout=_WAIT)  # Python runs one thread at a time, and the agent goes first

    def heard(self, seconds: float) -> bytes | None:
        if not self._news.acquire(timeout=seconds):
            return None
        said = b"".join(self._said)
        del self._said[:]
        return said

    def is_abandoned(self) -> bool:
        return os.getppid() != self._script

    def wait(self) -> None:
        self._ended.acquire()

    def leave(self) -> None:
        """First nothing of the client's is open here any more, as it may read to the end of its pipes."""
        drop_streams(TELL)
        InTurn.wait = _PATIENCE  # no agent waits any more, and a note is worth a wait
        if not self.is_abandoned():
            from _signal import SIGUSR1  # type: ignore[import-not-found]  # `signal` brings `enum` along

            os.kill(self._script, SIGUSR1)
        self._free.release()
        self.wait()


def _listen(work: Work, maker: _Process | _Thread) -> bytes | None:
    """What the maker says in the end; None once this hook has noted that the checkpoint is late."""
    while True:
        heard = _heard_in_time(maker, work.moment)
        if heard is None:
            with InTurn(work.project.place_dir):
                # Who begins or is done says so within its turn: it has by now, or finds that it is late.
                heard = maker.heard(0)
                if heard is None:
                    work.note_late(maker.pid)
                    heard = maker.heard(0)  # nobody waits long for a turn, so it may have been two at once
                    if heard is None:
                        return None
                    work.note_ended(maker.pid)
        if not heard.startswith(_BEGUN):
            return heard
        work.has_begun()
        if heard != _BEGUN:
            return heard[len(_BEGUN):]


def _heard_in_time(maker: _Process | _Thread, moment: Moment) -> bytes | None:
    """What the maker says, which is nothing if it was killed; None when it has not said anything until the
    moment is over. That is also when the client kills its hook, for then the agent goes on."""
    while True:
        heard = maker.heard(min(moment.left(), _GLANCE))
        if heard is not None or moment.is_over():
            return heard
        if maker.is_abandoned():
            moment.end_at(time.monotonic())


def _make(work: Work, tell: Callable[[bytes], None], *, can_leave: bool) -> None:
    rest = None
    try:
        rest = work.make(tell, can_leave)
        error = None
    except BaseException as problem:
        error = NotMade(type(problem).__name__, str(problem))
    _report(work, tell, error, _GOES_ON if rest else _MADE)
    if rest:
        rest()


def _report(work: Work, tell: Callable[[bytes], None], error: NotMade | None, made: bytes) -> None:
    """To the hook; where nobody listens any more, because the hook gave up waiting or was killed, an error is
    noted here."""
    with InTurn(work.project.place_dir):
        is_heard = not (work.is_late() if error else work.note_made())
        try:
            if is_heard:
                tell(error.answer()[:_MOST] if error else made)
        except OSError:
            is_heard = False
    if error and not is_heard:
        work.failed(os.getpid(), error)
