"""The checkpoint that a hook makes: by a process of its own, for which the hook waits only so long."""

from __future__ import annotations

import os
import time

from rewind.agents.registry import is_under_root
from rewind.checkpoint.save import save
from rewind.checkpoint.state import State
from rewind.errors import StoreMoved
from rewind.files import detach, process_start
from rewind.hooks.in_turn import InTurn
from rewind.hooks.log import now
from rewind.hooks.pins import pin
from rewind.hooks.state import HookState
from rewind.hooks.transcript_path import transcript_path
from rewind.paths import find_project
from rewind.snapshot.moment import Moment
from rewind.transcript.find import SessionFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rewind.hooks.decide import Decision
    from rewind.hooks.event import HookEvent
    from rewind.paths import Project

_WAIT = 2.0  # seconds for the lock
_PATIENCE = 10.0  # seconds for the work, then it goes on without us
_MADE = b"made"
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
                 made: Callable[[int], None], failed: Callable[[int, NotMade], None],
                 outside: list[str] | None = None) -> None:
        self.event = event
        self.project = project
        self.decision = decision
        self.fresh = fresh
        self.outside = outside or []
        self.made = made
        self.failed = failed
        self.trigger: dict[str, Any] = event.trigger()
        self.moment = Moment(_PATIENCE)
        self.at = now()

    def __call__(self) -> None:
        """In the process that makes it."""
        try:
            self._save()
        except StoreMoved:  # while we waited for the lock
            self.project = find_project(self.project.root, self.project.home) or self.project
            self._save()

    def _save(self) -> None:
        state = State(self.project, forgiving=True)
        try:
            kind = "auto" if state.timeline.newest_here() else "initial"
            save(state, self.decision.description, kind=kind, trigger=self.trigger,
                 session=transcript_of(self.event), find_session=False, wait=_WAIT,
                 first=lambda: self._claim(state), moment=self.moment, outside=self.outside)
        except _ToldTwice:
            return
        finally:
            state.close()
        self.made(os.getpid())

    def _claim(self, state: State) -> None:
        """Told twice at the same moment, an event is handled once: under the lock only one is the first."""
        if not _is_first(self.project, self.event.key(), self._begun(os.getpid())):
            raise _ToldTwice
        if self.fresh:
            pin(state, self.fresh)

    def note_late(self, pid: int) -> None:
        """The hook goes, the work goes on: from here on `list` shows it."""
        hooks = HookState(self.project.own("hook-state.json"))
        hooks.note_begun(self._begun(pid), late=True)
        hooks.save()

    def is_late(self) -> bool:
        return HookState(self.project.own("hook-state.json")).is_late(os.getpid())

    def _begun(self, pid: int) -> dict[str, Any]:
        # Elsewhere the start of a process is known to `ps` alone, which takes as long as a checkpoint.
        start = process_start(pid) if os.path.exists("/proc/self/stat") else ""
        return {"at": self.at, "event": self.event.name, "session": self.event.session, "pid": pid,
                "start": start or "", "description": self.decision.description}


class _ToldTwice(Exception):
    """Another process has taken care of the same event."""


def _is_first(project: Project, key: str, begun: dict[str, Any] | None = None) -> bool:
    with InTurn(project.place_dir):
        hooks = HookState(project.own("hook-state.json"))
        if key and key in hooks.seen:
            return False
        if key:
            hooks.seen.append(key)
        if begun:
            hooks.note_begun(begun)
        hooks.save()
        return True


def transcript_of(event: HookEvent) -> SessionFile | None:
    """The payload's transcript, if it is there yet, and lies where this agent keeps its sessions."""
    path = transcript_path(event)
    if not path or not is_under_root(event.profile, path):
        return None
    try:
        return SessionFile(path, event.profile, os.stat(path))
    except OSError:
        return None  # Claude Code makes the file after the first prompt


def has_checkpoint(project: Project, session: str) -> bool:
    state = State(project, forgiving=True)
    try:
        return any(record.session == session for record in state.timeline.all())
    finally:
        state.close()


def in_time(work: Work) -> None:
    """Do it in a child, and wait only so long: by the clock, whatever it is that takes long. A client kills
    the hook that it started, not the child. Raises what went wrong, if that is known in time."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        _as_child(work, into)
    os.close(into)
    try:
        answer = _answer(out, work.moment.left())
        if answer is None:
            with InTurn(work.project.place_dir):
                # Who is done says so within its turn: it has said it by now, or finds that it is late.
                answer = _answer(out, 0)
                if answer is None:
                    work.note_late(pid)
                    return
    finally:
        os.close(out)
    os.waitpid(pid, 0)
    if answer != _MADE:
        kind, _, message = answer.decode("utf-8", "replace").partition("\n")
        error = NotMade(kind, message) if kind else NotMade("Killed", "the process that saved was killed")
        work.failed(pid, error)
        raise error


def _answer(out: int, seconds: float) -> bytes | None:
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
        try:
            work()
            error = None
        except BaseException as problem:
            error = NotMade(type(problem).__name__, str(problem))
        if not _tell(work, into, error.answer() if error else _MADE) and error:
            work.failed(os.getpid(), error)
    finally:
        os._exit(0)


def _tell(work: Work, into: int, answer: bytes) -> bool:
    """False when nobody listens any more: the hook gave up waiting, or was killed."""
    with InTurn(work.project.place_dir):
        try:
            return not work.is_late() and os.write(into, answer[:_MOST]) > 0
        except OSError:
            return False
