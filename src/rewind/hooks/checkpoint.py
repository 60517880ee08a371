"""The checkpoint that a hook makes: within its time, or in a process that nobody waits for."""

from __future__ import annotations

import os
import time

from rewind.agents.registry import is_under_root
from rewind.checkpoint.save import save
from rewind.checkpoint.state import State
from rewind.hooks.in_turn import InTurn
from rewind.hooks.log import log_for
from rewind.hooks.pins import pin
from rewind.hooks.state import HookState
from rewind.hooks.transcript_path import transcript_path
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
_MANY = 50_000  # files


def make_checkpoint(event: HookEvent, project: Project, decision: Decision, fresh: list[str]) -> bool:
    """False when another process has taken care of the same event."""
    state = State(project, forgiving=True)
    try:
        if not _claim(state, event, fresh):
            return False
        newest = state.timeline.newest()
        work = _Work(state, event, decision, "auto" if newest else "initial")
        count = newest.code.get("fileCount") if newest else _MANY
        if isinstance(count, int) and count < _MANY:
            work()
            return True
    finally:
        state.close()
    # A first look at a tree, or at a huge one, may take longer than an agent waits.
    in_time(work, project)
    return True


def _claim(state: State, event: HookEvent, fresh: list[str]) -> bool:
    """Told twice at the same moment, an event is handled once: under the lock only one is the first."""
    with state.locked("hook", _WAIT):
        key = event.key()
        if key and not _is_first(state.project, key):
            return False
        if fresh:
            pin(state, fresh)
    return True


def _is_first(project: Project, key: str) -> bool:
    with InTurn(project.state):
        hooks = HookState(project.path("hook-state.json"))
        if key in hooks.seen:
            return False
        hooks.seen.append(key)
        hooks.save()
        return True


class _Work:
    def __init__(self, state: State, event: HookEvent, decision: Decision, kind: str) -> None:
        self.state = state
        self.event = event
        self.decision = decision
        self.kind = kind
        self.began = time.monotonic()
        self.trigger: dict[str, Any] = event.trigger()

    def __call__(self) -> None:
        save(self.state, self.decision.description, kind=self.kind, trigger=self.trigger,
             session=transcript_of(self.event), find_session=False, wait=_WAIT, progress=self._watch)

    def _watch(self, what: str, done: int, total: int) -> None:
        if time.monotonic() - self.began > _PATIENCE:
            self.trigger["late"] = True  # what it holds may be later than the moment it stands for


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


def in_time(work: Callable[[], None], project: Project, patience: float = _PATIENCE) -> None:
    """Do it in a child, and wait only so long. A client kills the hook it started, not this one."""
    pid = os.fork()
    if pid == 0:
        _as_child(work, project)
    until = time.monotonic() + patience
    pause = 0.001
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            if status:
                raise OSError("the checkpoint failed; the line before says why")
            return
        time.sleep(pause)
        pause = min(pause * 2, 0.05)


def _as_child(work: Callable[[], None], project: Project) -> None:
    code = 1
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        work()
        code = 0
    except BaseException as error:
        log_for(project, f"checkpoint: {type(error).__name__}: {error}")
    finally:
        os._exit(code)
