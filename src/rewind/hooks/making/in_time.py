"""The checkpoint that a hook makes: by a process of its own, for which the hook waits only so long."""

from __future__ import annotations

import os
import time

from rewind.files import detach, process_start
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

    from rewind.hooks.decide import Decision
    from rewind.hooks.event import HookEvent
    from rewind.paths import Project

_WAIT = 1.5  # seconds for the work to begin, from the start of the hook
_PATIENCE = 10.0  # seconds for the work, then it goes on without us
_LATE_WAIT = 60.0  # seconds for the work to begin where no hook waits for it
_LEAST = 0.25  # seconds, however long it took this process to get here
_BEGUN, _MADE = b"*", b"made"
_MOST = 4096  # bytes of an answer


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
    """One checkpoint, as it is asked for. `made` and `failed` note in `hook-state.json` what became of it."""

    def __init__(self, event: HookEvent, project: Project, decision: Decision, fresh: list[str],
                 made: Callable[[int, bool], None], failed: Callable[[int, NotMade], None],
                 outside: list[str] | None = None, age: float = 0.0) -> None:
        """`age`: how many seconds ago the hook began."""
        self.event = event
        self.project = project
        self.decision = decision
        self.fresh = fresh
        self.outside = outside or []
        self.made = made
        self.failed = failed
        self.trigger: dict[str, Any] = event.trigger()
        self.at = now()
        self._began = time.monotonic() - age
        # What no checkpoint holds yet is gone for good once the agent goes on: that is worth a longer wait.
        self._is_alone = bool(self.fresh or self.outside)
        self.moment = Moment(max(_LEAST, (_PATIENCE if self._is_alone else _WAIT) - age))
        self._into = -1

    def in_child(self, into: int) -> None:
        """In the process that makes it; `into` leads to the hook."""
        self._into = into
        request = None if self._is_alone else self._request
        with Queue(self.project.place_dir, request, self._began + _LATE_WAIT) as queue:
            if not queue.is_done:
                from rewind.hooks.making.checkpoint import make

                if not make(self, queue):
                    return
        self.made(os.getpid(), self.moment.is_over())

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
            hooks.note_begun(self._begun(os.getpid()))
            hooks.save()
            if not hooks.is_late(os.getpid()):
                self._tell_begun()
            return True

    def _tell_begun(self) -> None:
        try:
            os.write(self._into, _BEGUN)
            self.has_begun()
        except OSError:
            self.moment.end_at(time.monotonic())  # the hook was killed, so the agent may be at work

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


def in_time(work: Work) -> None:
    """Do it in a child, and wait only so long: by the clock, whatever it is that takes long. A client kills
    the hook that it started, not the child. Raises what went wrong, if that is known in time."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        _as_child(work, into)
    os.close(into)
    try:
        answer = _listen(work, pid, out)
    finally:
        os.close(out)
    if answer is None:
        return
    os.waitpid(pid, 0)
    if answer != _MADE:
        kind, _, message = answer.decode("utf-8", "replace").partition("\n")
        error = NotMade(kind, message) if kind else NotMade("Killed", "the process that saved was killed")
        work.failed(pid, error)
        raise error


def _listen(work: Work, pid: int, out: int) -> bytes | None:
    """What the child says in the end; None once this hook has noted that the checkpoint is late."""
    while True:
        heard = _heard(out, work.moment.left())
        if heard is None:
            with InTurn(work.project.place_dir):
                # Who begins or is done says so within its turn: it has by now, or finds that it is late.
                heard = _heard(out, 0)
                if heard is None:
                    work.note_late(pid)
                    heard = _heard(out, 0)  # nobody waits long for a turn, so it may have been two at once
                    if heard is None:
                        return None
                    work.note_ended(pid)
        if not heard.startswith(_BEGUN):
            return heard
        work.has_begun()
        if heard != _BEGUN:
            return heard[len(_BEGUN):]


def _heard(out: int, seconds: float) -> bytes | None:
    """What the child says, which is nothing if it was killed; None when it has not said anything yet."""
    import select

    until = time.monotonic() + seconds
    while True:
        try:
            ready, _, _ = select.select([out], [], [], max(0.0, until - time.monotonic()))
        except InterruptedError:
            continue
        return os.read(out, _MOST) if ready else None


def _as_child(work: Work, into: int) -> None:
    try:
        detach(into)
        InTurn.wait = _PATIENCE  # no agent waits for this process, and a note is worth a wait
        try:
            work.in_child(into)
            error = None
        except BaseException as problem:
            error = NotMade(type(problem).__name__, str(problem))
        if _tell(work, into, error.answer() if error else _MADE):
            return
        if error:
            work.failed(os.getpid(), error)
        else:
            with InTurn(work.project.place_dir):
                work.note_ended(os.getpid())  # the hook may have called it late after it was made
    finally:
        os._exit(0)


def _tell(work: Work, into: int, answer: bytes) -> bool:
    """False when nobody listens any more: the hook gave up waiting, or was killed."""
    with InTurn(work.project.place_dir):
        try:
            return not work.is_late() and os.write(into, answer[:_MOST]) > 0
        except OSError:
            return False
