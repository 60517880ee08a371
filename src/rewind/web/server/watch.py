"""Looks for changes on the disk from time to time, so that open pages show them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from rewind.controller import Controller
from rewind.errors import RewindError
from rewind.files import stamp_of
from rewind.web.reads import shapes
from rewind.web.reads.project import interrupted, project

if TYPE_CHECKING:
    from rewind.web.reads.parts import Session
    from rewind.web.writes.answer_types import ProjectRead, Push

_PROJECT_FILES = ("operations.jsonl", "config.json")
_BRANCH_FILES = ("branches.json", "operations.jsonl", "config.json")  # what the list of sessions depends on


class WatchedState:
    """What can be seen without reading a transcript."""

    def __init__(self, controller: Controller) -> None:
        self.sessions: dict[str, tuple[int, float]] = {}
        self.alive: dict[str, tuple[bool, bool]] = {}
        for file, life in controller.session_files():
            self.sessions[file.session_id] = file.size, file.modified
            self.alive[file.session_id] = life
        self.branches = [stamp_of(controller.project.path(name)) for name in _BRANCH_FILES]
        self.checkpoints = controller.extent()
        self.project = [stamp_of(controller.project.path(name)) for name in _PROJECT_FILES]
        self.project.append(stamp_of(controller.project.own("session.json")))
        # A process that is killed changes no file, but releases the lock.
        self.interrupted = interrupted(controller) is not None


def _project(controller: Controller) -> ProjectRead:
    """The project, so that the page need not ask. If it cannot be read, the page asks and gets the error."""
    try:
        return {"project": project(controller)}
    except RewindError:
        return {}


class Watch:
    """Remembers the last look. `look` returns the events of what changed since."""

    def __init__(self) -> None:
        self._last: WatchedState | None = None
        self._sent: dict[str, tuple[bool, bool]] = {}
        self._telling = threading.Lock()

    def note_sent(self, sessions: list[Session]) -> None:
        """Note what a page was sent between two looks: if it is over by the second look, that is a change."""
        with self._telling:
            self._sent.update({one["sessionId"]: (one["running"], one["busy"]) for one in sessions})

    def look(self, controller: Controller) -> list[Push]:
        with self._telling:
            sent, self._sent = self._sent, {}
        before, now = self._last, WatchedState(controller)
        if before is not None:
            before.alive.update(sent)
        events = self._since(controller, before, now) if before else []
        self.note_sent([event["session"] for event in events if event["event"] == "session_updated"])
        self._last = now  # only here: if this look fails, the next one reports its changes
        return events

    def _since(self, controller: Controller, before: WatchedState, now: WatchedState) -> list[Push]:
        events = self._about_sessions(controller, before, now)
        if now.checkpoints != before.checkpoints:
            events.append({"event": "checkpoints_changed", "newest": now.checkpoints[1]})
        if (now.project, now.interrupted, now.checkpoints) != (
                before.project, before.interrupted, before.checkpoints):
            events.append({"event": "project_changed", **_project(controller)})
        return events

    def _about_sessions(self, controller: Controller, before: WatchedState, now: WatchedState) -> list[Push]:
        events: list[Push] = []
        if before.sessions.keys() != now.sessions.keys() or before.branches != now.branches:
            events.append({"event": "sessions_changed"})
        moved = {id for id in now.sessions.keys() & before.sessions.keys()
                 if now.sessions[id] != before.sessions[id] or now.alive[id] != before.alive[id]}
        infos = [info for info in controller.sessions() if info.session_id in moved] if moved else []
        for info in infos:
            try:
                events.append({"event": "session_updated", "session": shapes.session(controller, info)})
            except RewindError:
                continue
            if now.sessions[info.session_id] != before.sessions[info.session_id]:
                # This is also pushed while the last turn grows, so that a page that shows it reads it again.
                events.append({"event": "turns_added", "sessionId": info.session_id,
                               "total": len(info.turns)})
        return events
