"""The futures of a project: forks with a directory of their own, and how far each has come."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.agents.registry import profile_named
from rewind.checkpoint.changes.turn_changes import changes_between
from rewind.checkpoint.conversations.which_session import SessionActivity
from rewind.checkpoint.futures.known.half_made import half_made
from rewind.checkpoint.operation_log.lineage import here
from rewind.checkpoint.operation_log.operations import UNDELETE, Operation
from rewind.checkpoint.project.state import State
from rewind.errors import FutureLost, FutureNotFound
from rewind.index import MAIN
from rewind.paths import Project
from rewind.transcript.find import SessionFile, latest_sessions, session_anywhere
from rewind.transcript.turns.turn_index import open_turns

if TYPE_CHECKING:
    from rewind.checkpoint.changes.turn_changes import Changes
    from rewind.checkpoint.futures.known.half_made import HalfMade
    from rewind.checkpoint.project.known_forks import KnownFork, LastRun

_SHORTEST = 6  # of a session's id that names it


class Lane:
    """One future, as `branches.json` has it."""

    def __init__(self, known: KnownFork) -> None:
        self.known_fork = known
        self.session_id: str = known["sessionId"]
        self.dir = str(known["dir"])
        self.place = str(known["place"])
        self.point = str(known.get("point") or "")
        self.exists = os.path.isdir(self.dir)
        self.running = self.busy = False
        self.turns: int | None = None  # since it was forked
        self.changes: Changes | None = None  # since it was forked, up to its last checkpoint
        self.tip = ""
        self.half_made: HalfMade | None = None  # the note of the process that was killed while making it

    @property
    def name(self) -> str:
        return str(self.known_fork.get("name") or os.path.basename(self.dir))

    @property
    def half_removed(self) -> bool:
        """Its removal was killed: a part of its directory is still on the disk."""
        fork = self.known_fork
        return bool(fork.get("removed") and (fork.get("aside") or fork.get("clearing")))

    @property
    def state(self) -> str:
        """Its state in one word."""
        if self.half_made:
            return "half-made"
        if self.half_removed:
            return "half-removed"
        return "gone" if not self.exists else "busy" if self.busy else "open" if self.running else "idle"

    @property
    def last_run(self) -> LastRun | None:
        found = self.known_fork.get("lastRun")
        return found if isinstance(found, dict) else None


def lanes(state: State) -> list[Lane]:
    """Oldest first; unfinished ones come last. `read_progress` adds the details."""
    unfinished = [_half_made_lane(note) for note in half_made(state)]
    folders = {lane.dir for lane in unfinished}
    known = [Lane(one) for one in state.forks().all if _is_lane(one)]
    busy = any(lane.half_removed for lane in known) and state.lock_now_ns is None and state.is_busy()
    return [*(lane for lane in known if lane.dir not in folders
              and (not lane.known_fork.get("removed") or (lane.half_removed and not busy))), *unfinished]


def _is_lane(known: KnownFork) -> bool:
    """Whether a fork is a future. A fork of a future's conversation is for the same directory, but has no
    checkpoint that it was made from."""
    return bool(known.get("dir") and known.get("point")) and known.get("place") not in (None, MAIN)


def _half_made_lane(note: HalfMade) -> Lane:
    lane = Lane({"sessionId": note["sessionId"], "name": note["name"], "dir": note["dir"],
                 "point": note["point"], "place": note["sessionId"]})
    lane.half_made = note
    return lane


def removed_lanes(state: State) -> list[Lane]:
    """The futures that `forks undelete` can bring back, including one whose undelete was killed."""
    return [lane for lane in map(Lane, filter(_is_lane, state.forks().all))
            if lane.known_fork.get("removed") or interrupted(state, UNDELETE, lane.session_id)]


def interrupted(state: State, command: str, session: str) -> Operation | None:
    """The operation on this future that a killed process began."""
    op = state.interrupted()
    ours = op and op.command == command and any(
        one.get("sessionId") == session and one.get("dir") for one in op.effects)
    return op if ours else None


def find_lane(state: State, text: str) -> Lane:
    """By its name, its directory, or the beginning of its session's id."""
    return pick_lane(lanes(state), text)


def check_whole(lane: Lane) -> None:
    if lane.half_made:
        raise FutureLost(name=lane.name, what="`rewind fork` was interrupted while it made it",
                         hint=f"To remove it: rewind forks remove {lane.name}")
    if lane.half_removed:
        raise FutureLost(name=lane.name, what="its removal was interrupted",
                         hint=f"To bring it back: rewind forks undelete {lane.name}")
    if not lane.exists:
        raise FutureLost(name=lane.name, what=f"{lane.dir} is gone")


def pick_lane(known: list[Lane], text: str) -> Lane:
    real = os.path.realpath(text) if text else ""
    named = [lane for lane in known if lane.name == text]
    found = (named or [lane for lane in known if lane.dir == real]
             or [lane for lane in known if len(text) >= _SHORTEST and lane.session_id.startswith(text)])
    if len(found) == 1:
        return found[0]
    raise FutureNotFound(name=text)


class OpenPlace:
    """`with OpenPlace(state, lane) as there:` opens the lane's own place."""

    def __init__(self, state: State, lane: Lane) -> None:
        project = state.project
        self._state = State(Project(lane.dir, project.state, project.home, lane.place, project.main))

    def __enter__(self) -> State:
        return self._state

    def __exit__(self, *error: object) -> None:
        self._state.close()


def read_progress(state: State, lane: Lane) -> Lane:
    """Add how far it has come: turns, changes, whether somebody is at work."""
    if lane.half_made or lane.half_removed:
        return lane
    with OpenPlace(state, lane) as there:
        tip = here(there)
        lane.tip = tip.name if tip else ""
        file = session_of(there, lane)
        if file:
            total = open_turns(file.path, file.profile, there.derived).total
            began = lane.known_fork.get("rewindFromTurn")
            lane.turns = max(0, total - began) if isinstance(began, int) else total
            lane.running, lane.busy = SessionActivity(there).of(file)
        point = state.files.find(lane.point)
        lane.changes = changes_between(there, point, tip) if point and tip else None
    return lane


def session_of(state: State, lane: Lane) -> SessionFile | None:
    """Its conversation, even if the client moved the file. If it began without one, the latest one there."""
    if not lane.known_fork.get("path"):
        return next(iter(latest_sessions(state.area(), home=state.project.home)), None)
    profile = profile_named(str(lane.known_fork.get("agent")), state.project.home)
    path = str(lane.known_fork.get("path"))
    try:
        return SessionFile(path, profile, os.stat(path))
    except OSError:
        return session_anywhere(profile, lane.session_id, near=path)


def resume_in(state: State, lane: Lane) -> str:
    """The command that continues its conversation, or begins one there."""
    from shlex import quote

    from rewind.checkpoint.conversations.bring_back import resume_command

    check_whole(lane)
    with OpenPlace(state, lane) as there:
        file = session_of(there, lane)
        if file:
            return resume_command(there, file.profile, file.session_id, file.path)
    agent = str(lane.known_fork.get("agent"))
    start = profile_named(agent, state.project.home).commands["start"] if agent != "unknown" else ""
    return f"cd {quote(lane.dir)}" + (f" && {start}" if start else "")
