"""Making the checkpoint of an event, and those of the events that wait behind it. All that a save needs is
imported here, so nobody imports this before it is to be made."""

from __future__ import annotations

import os
import time

from rewind.agents.registry import each_profile, is_under_root
from rewind.checkpoint.project.state import State
from rewind.checkpoint.save.create import write_record
from rewind.checkpoint.save.save import save
from rewind.errors import StoreMoved
from rewind.hooks.memory.hook_state import HookState
from rewind.hooks.memory.in_turn import InTurn
from rewind.hooks.transcript_path import own_transcript
from rewind.paths import find_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.agents.profile import Profile
    from rewind.checkpoint.save.conversation import Captured
    from rewind.checkpoint.save.create import Draft
    from rewind.hooks.making.in_time import Work
    from rewind.hooks.making.queue import Queue, Request
    from rewind.paths import Project
    from rewind.transcript.find import SessionFile


def make(work: Work, queue: Queue) -> bool:
    """False where another process has taken care of the same event."""
    try:
        return _Making(work, queue).run()
    except StoreMoved:  # while we waited for the lock
        work.project = find_project(work.project.root, work.project.home) or work.project
        return _Making(work, queue).run()


_left_open: list[State] = []


class _ToldTwice(Exception):
    """Another process has taken care of the same event."""


class _Making:
    """One look at the tree: a record for this hook, and one for each that waited before it began."""

    def __init__(self, work: Work, queue: Queue) -> None:
        self._work = work
        self._queue = queue
        self._state = State(work.project, forgiving=True)
        self._others: list[Request] = []
        self._is_late = False

    def run(self) -> bool:
        work, state = self._work, self._state
        try:
            kind = "auto" if state.timeline.newest_here() else "initial"
            save(state, work.decision.description, kind=kind, trigger=work.trigger,
                 session=_session(work.event.profile, own_transcript(work.event)), find_session=False,
                 wait=work.left(), first=self._begin, moment=work.moment, outside=work.outside,
                 then=self._record_others)
        except _ToldTwice:
            return False
        except BaseException:
            state.close()
            raise
        # This process ends now. Closing would have SQLite write the WAL back and delete it: four syncs for a
        # cache that may be lost. So SQLite does it by itself, once in many times.
        _left_open.append(state)
        return True

    def _begin(self) -> None:
        """As soon as the lock is had, and before the tree is looked at."""
        work = self._work
        if not work.is_first():
            raise _ToldTwice
        if work.fresh:
            from rewind.hooks.memory.pins import pin

            pin(self._state, work.fresh)
        self._is_late = work.moment.is_over()
        now = time.monotonic()
        self._others = [one for one in self._queue.waiting() if (one.until <= now) is self._is_late]
        if self._is_late:
            # What changed since the first of these agents went on is uncertain for all of them.
            work.moment.end_at(min([work.moment.until, *(one.until for one in self._others)]))

    def _record_others(self, draft: Draft) -> None:
        """This look at the tree is good for whoever has waited until its end; or is as late as we are."""
        if self._work.moment.is_over() is not self._is_late:
            return
        done = time.monotonic()
        others = [one for one in self._others if self._is_late or one.until > done]
        if not others:
            return
        seen = HookState(self._work.project.own("hook-state.json"))
        for one in others:
            if seen.claim(one.key):
                self._record(one, draft)
            one.mark_done()
        self._note_seen([one.key for one in others if one.key])

    def _record(self, one: Request, draft: Draft) -> None:
        trigger = {**one.trigger, "late": True} if self._is_late else one.trigger
        write_record(self._state, draft, "auto", one.description, trigger, self._conversation(one))

    def _conversation(self, one: Request) -> Captured | None:
        profile = next((p for p in each_profile(self._work.project.home, forgiving=True)
                        if p.name == one.agent), None)
        session = _session(profile, one.transcript) if profile else None
        if session is None:
            return None
        from rewind.checkpoint.conversations.which_session import capture_current

        return capture_current(self._state, session)[0]

    def _note_seen(self, keys: list[str]) -> None:
        with InTurn(self._work.project.place_dir):
            hooks = HookState(self._work.project.own("hook-state.json"))
            for key in keys:
                hooks.claim(key)
            hooks.save()


def _session(profile: Profile, path: str) -> SessionFile | None:
    """The transcript, if it is there yet, and lies where this agent keeps its sessions."""
    if not path or not is_under_root(profile, path):
        return None
    try:
        info = os.stat(path)
    except OSError:
        return None  # Claude Code makes the file after the first prompt
    from rewind.transcript.find import SessionFile

    return SessionFile(path, profile, info)


def has_checkpoint(project: Project, session: str) -> bool:
    state = State(project, forgiving=True)
    try:
        return any(record.session == session for record in state.timeline.all())
    finally:
        state.close()
