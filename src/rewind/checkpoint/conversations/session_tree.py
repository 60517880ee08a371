"""The sessions of a project as a tree: which is a fork of which, according to Rewind or to the agents."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, TypedDict

from rewind.checkpoint.conversations.which_session import SessionActivity, recorded_files
from rewind.checkpoint.operation_log.fork_code import replaced_code
from rewind.checkpoint.project.known_forks import ancestors
from rewind.checkpoint.project.state import State
from rewind.errors import RewindError
from rewind.fast import quickjson
from rewind.transcript.find import SessionFile, project_sessions
from rewind.transcript.read.titles import plain_title
from rewind.transcript.turns.turn_index import open_turns, stamp_of

if TYPE_CHECKING:
    from rewind.checkpoint.project.known_forks import KnownFork

_INSERT = "INSERT OR REPLACE INTO transcripts VALUES(?, ?, ?)"


class Summary(TypedDict):
    """What the index stores about a transcript."""

    title: str  # as the agent's own picker shows it
    parent: str | None
    messages: int  # entries on the active chain
    turns: list[list[str]]  # [id, timestamp] of each turn on the active chain


class SessionInfo:
    """One session: its name, its length and where it came from."""

    def __init__(self, file: SessionFile, summary: Summary) -> None:
        self.file = file
        self.own_title = summary["title"]
        self.turns = summary["turns"]
        self.messages = summary["messages"]
        self.native_parent = summary["parent"]
        self.parent: str | None = None
        self.rewind_from_turn: int | None = None
        self.known_fork: KnownFork | None = None  # its entry in `branches.json`
        self.running = False
        self.busy = False  # a turn is running
        self.inactive = False  # not continued for longer than `branches.archiveAfterDays`
        self.replaced_code = ""  # the checkpoint with the code that making it replaced
        self.notes: list[str] = []  # about what could not be done with it

    @property
    def session_id(self) -> str:
        return self.file.session_id

    @property
    def name(self) -> str:
        """The name in lists. A fork is called by what it continues, unless a person has named it."""
        return (self.known_fork or {}).get("name") or self.title + self.where_from

    @property
    def title(self) -> str:
        """The title without the prefixes that the agent's own picker shows for forks."""
        return plain_title(self.own_title)

    @property
    def where_from(self) -> str:
        forked = self.parent and self.rewind_from_turn is not None
        return f" · from turn {self.rewind_from_turn}" if forked else ""

    @property
    def made_by_rewind(self) -> bool:
        return bool(self.known_fork) and (self.known_fork or {}).get("made", True)

    @property
    def promoted(self) -> bool:
        return bool((self.known_fork or {}).get("promoted"))

    @property
    def archived(self) -> bool:
        """Whether it is archived: by a promotion, or by its age until it is continued or promoted."""
        by_age = self.inactive and self.made_by_rewind and not self.promoted and not self.running
        return by_age or bool((self.known_fork or {}).get("archived"))


def session_infos(state: State) -> list[SessionInfo]:
    """All sessions of the project, latest first, each with its parent."""
    infos = []
    for file in _files(state):
        try:
            infos.append(SessionInfo(file, _summary(state, file)))
        except RewindError:
            continue  # deleted since it was found, or not readable
    forks = {known["sessionId"]: known for known in state.forks().all}
    for info in infos:
        info.known_fork = forks.get(info.session_id)
    activity = SessionActivity(state)
    aside, inactive_since = _replaced_code(state), _inactive_since(state)
    for info in infos:
        info.running, info.busy = activity.of(info.file)
        info.inactive = info.file.modified < inactive_since
        info.replaced_code = aside.get(info.session_id, "")
    _set_parents(infos, {id: known["parentSessionId"] for id, known in forks.items()})
    return infos


def _files(state: State) -> list[SessionFile]:
    """The sessions in the project's folders, and those that hooks recorded and the agent has moved since."""
    found = project_sessions(state.area(), home=state.project.home)
    known = {file.session_id for file in found}
    moved = [file for file in recorded_files(state) if file.session_id not in known]
    return sorted(found + moved, key=lambda file: file.modified, reverse=True) if moved else found


def _inactive_since(state: State) -> float:
    """Sessions that were not changed since then are inactive; 0 if the setting is off."""
    days: float = state.settings.get("branches.archiveAfterDays")
    return time.time() - days * 86_400 if days else 0


def _replaced_code(state: State) -> dict[str, str]:
    try:
        return replaced_code(state)
    except RewindError:
        return {}  # commands that need the log report that it is damaged


def _summary(state: State, file: SessionFile) -> Summary:
    """From the index if the file has not changed, else by reading what is new in it."""
    stamp = stamp_of(os.stat(file.path))
    rows = state.derived.query("SELECT stamp, summary FROM transcripts WHERE path=?", (file.path,))
    if rows and rows[0][0] == stamp:
        try:
            found: Summary = quickjson.loads(rows[0][1])
            return found
        except ValueError:
            pass  # a damaged index: read the transcript itself
    index = open_turns(file.path, file.profile, state.derived)
    summary: Summary = {
        "title": index.title, "parent": index.parent_session, "messages": index.messages,
        "turns": [[turn.uuid, turn.stamp or ""] for turn in index.turns(1, index.total)]}
    state.derived.write([(_INSERT, [(file.path, stamp, quickjson.dumps(summary))])])
    return summary


def _set_parents(infos: list[SessionInfo], noted: dict[str, str | None]) -> None:
    """`noted` are the parents of all forks that Rewind made, including those in the trash."""
    by_id = {info.session_id: info for info in infos}
    holders: dict[str, list[SessionInfo]] = {}  # turn -> the sessions that have it
    for info in infos:
        for turn, _ in info.turns:
            holders.setdefault(turn, []).append(info)
    for info in infos:
        known = info.known_fork or {}
        info.parent = known.get("parentSessionId") or info.native_parent
        info.rewind_from_turn = known.get("rewindFromTurn")
    parents = {**noted, **{info.session_id: info.parent for info in infos}}
    for info in infos:
        if info.parent is None and info.turns:
            info.parent = _parent_among(info, holders, parents)
        if info.parent and info.rewind_from_turn is None and info.parent in by_id:
            info.rewind_from_turn = shared_turns(info, by_id[info.parent])
    _break_rings(by_id)


def shared_turns(one: SessionInfo, other: SessionInfo) -> int:
    count = 0
    for mine, theirs in zip(one.turns, other.turns):
        if mine[0] != theirs[0]:
            break
        count += 1
    return count


def _parent_among(info: SessionInfo, holders: dict[str, list[SessionInfo]],
                  parents: dict[str, str | None]) -> str | None:
    """The parent of a fork that the client made without saying so; such a fork has its parent's ids. The
    parent shares the most turns, was continued first or not at all, and is not known to descend from the
    fork."""
    for turn, _ in reversed(info.turns):
        for other in holders[turn]:
            if (other is not info and _went_on_earlier(other, info)
                    and info.session_id not in ancestors(other.session_id, parents.get)):
                return other.session_id
    return None


def _went_on_earlier(one: SessionInfo, other: SessionInfo) -> bool:
    shared = shared_turns(one, other)
    mine, theirs = one.turns[shared:], other.turns[shared:]
    if not mine or not theirs:
        if bool(mine) != bool(theirs):
            return not mine
        return (one.file.modified, one.session_id) < (other.file.modified, other.session_id)
    return (mine[0][1], one.session_id) < (theirs[0][1], other.session_id)


def _break_rings(by_id: dict[str, SessionInfo]) -> None:
    """Remove rings of parents: nothing prevents two files from naming each other."""
    for info in by_id.values():
        seen = {info.session_id}
        at = info
        while at.parent in by_id:
            if at.parent in seen:
                at.parent = at.rewind_from_turn = None
                break
            seen.add(str(at.parent))
            at = by_id[str(at.parent)]


def as_tree(infos: list[SessionInfo]) -> list[tuple[int, SessionInfo]]:
    """(depth, session), children after their parent. Sessions whose parent is gone are at the top."""
    known = {info.session_id for info in infos}
    children: dict[str | None, list[SessionInfo]] = {}
    for info in infos:
        children.setdefault(info.parent if info.parent in known else None, []).append(info)
    rows: list[tuple[int, SessionInfo]] = []
    pending = [(0, info) for info in reversed(children.get(None, []))]
    while pending:
        depth, info = pending.pop()
        rows.append((depth, info))
        pending += [(depth + 1, child) for child in reversed(children.get(info.session_id, []))]
    return rows
