"""Makes a checkpoint of the project as it is now, and starts upkeep when it is due."""

from __future__ import annotations

import os

from rewind.agents.profile import TREE
from rewind.checkpoint.project.locked import locked
from rewind.checkpoint.save.capture import capture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rewind.checkpoint.conversations.stored import Captured
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Outside, Record, Trigger
    from rewind.checkpoint.save.capture import Draft
    from rewind.snapshot.scan.build import Progress
    from rewind.snapshot.scan.moment import Moment
    from rewind.transcript.find import SessionFile


AUTO = "auto"  # the kind of checkpoints that hooks make; the first one in a place is "initial"


class Saved:
    """The checkpoint, and whether it is new. With `if_changed`, an unchanged tree returns the last one."""

    def __init__(self, record: Record, created: bool, note: str = "") -> None:
        self.record = record
        self.created = created
        self.note = note  # why the conversation is left out, if it should have been part of it

    @property
    def notes(self) -> list[str]:
        """What to tell the person about this checkpoint."""
        from rewind.checkpoint.records.torn import saved_notes

        about = saved_notes(self.record) if self.created else []
        return [self.note, *about] if self.note else about


def save(state: State, description: str = "", *, kind: str = "manual", if_changed: bool = False,
         trigger: Trigger | None = None, session: SessionFile | None = None,
         find_session: bool = True, wait: float = 10.0, progress: Progress | None = None,
         when_locked: Callable[[], None] | None = None, moment: Moment | None = None,
         outside: list[str] | None = None, when_read: Callable[[], None] | None = None,
         before_unlock: Callable[[Draft], None] | None = None) -> Saved:
    """The conversation is that of `session`, else the current one if `find_session`. `when_locked` is called
    once this process has the lock, `when_read` once everything that the checkpoint consists of has been read,
    and `before_unlock`, which may make more records of the same snapshot, before the lock is released. A
    checkpoint whose files were read after `moment` is late. `outside` are files outside the project that the
    agent is about to edit."""
    is_late, end = False, None
    # A transcript that only grows can be captured later, up to its present end.
    waits = when_read is not None and (session is None or session.profile.kind == TREE)

    def all_read() -> None:
        nonlocal is_late, end
        is_late = moment is not None and moment.is_over()
        end = _size_of(session) if session and waits else None
        if when_read:
            when_read()

    with locked(state, "save", wait):
        if when_locked:
            when_locked()
        # Before the scan, which may take longer than the agent's tool waits.
        kept = _keep_outside(state, outside, moment) if outside else {}
        # Kept files are in no checkpoint yet, so a collection would delete them if the lock were released.
        draft = capture(state, state.rules(), progress, moment, release_lock=not kept, trusting=True,
                        all_read=all_read if waits else None)
        try:
            current = _here(state) if if_changed else None
            if current and current.tree == draft.snapshot.root:
                state.objects.commit()
                draft.snapshot.remember(state.cache)
                return Saved(current, False)
            conversation, note = _conversation(state, session, end) if session or find_session else (None, "")
            if not waits:
                all_read()
            if is_late or draft.snapshot.is_late:
                trigger = {**(trigger or {}), "late": True}
            saved = Saved(_record(state, draft, kind, description, trigger, conversation, kept), True, note)
            if before_unlock:
                before_unlock(draft)
        finally:
            draft.close()
        chore = _due(state)
    if chore:
        _later(state, chore)
    return saved


# These functions import late: the agent no longer waits when their code is loaded.

def _record(state: State, draft: Draft, kind: str, *more: Any) -> Record:
    from rewind.checkpoint.save.create import write_record

    if kind == AUTO and not state.timeline.newest_here():
        kind = "initial"
    return write_record(state, draft, kind, *more)


def _due(state: State) -> str:
    """The upkeep that is due, if any."""
    from rewind.checkpoint.upkeep.due import is_due

    return "gc" if is_due(state) else "pack" if state.objects.has_loose() else ""


def _here(state: State) -> Record | None:
    from rewind.checkpoint.operation_log.lineage import here

    return here(state)


def _size_of(session: SessionFile) -> int | None:
    try:
        return os.stat(session.path).st_size
    except OSError:
        return None


def _conversation(state: State, session: SessionFile | None,
                  end: int | None) -> tuple[Captured | None, str]:
    from rewind.checkpoint.conversations.which_session import capture_current

    return capture_current(state, session, end)


def _keep_outside(state: State, paths: list[str], moment: Moment | None) -> Outside:
    from rewind.checkpoint.records.outside import keep

    return {} if moment and moment.is_over() else keep(state, paths)


def _later(state: State, chore: str) -> None:
    """Start upkeep in the background, unless another process is doing it."""
    from rewind.checkpoint.upkeep.pieces import is_being_packed
    from rewind.processes import spawn_detached

    if chore == "pack" and is_being_packed(state):
        return
    room = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    spawn_detached(["-I", "-S", os.path.join(room, "chores.py"), chore,
                    state.project.root, state.project.home])
