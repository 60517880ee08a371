"""The map by session: sessions with their turns, the checkpoints made in them, and forks where they branched
off. It is only for display."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rewind.checkpoint.conversations.session_tree import SessionInfo, session_infos
from rewind.checkpoint.futures.known.lane import Lane
from rewind.checkpoint.map.facts import add_changes
from rewind.checkpoint.map.turn_map import TURN, MapRow, turn_map
from rewind.checkpoint.operation_log.lineage import here
from rewind.checkpoint.operation_log.operations import FILE as OPERATIONS
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record, noted_place, prompt_start, seconds_of, session_of
from rewind.checkpoint.rewind.target import AtCheckpoint, AtTurn, Target
from rewind.errors import RewindError
from rewind.transcript.find import project_sessions
from rewind.transcript.turns.turn_index import open_turns
from rewind.transcript.turns.turn_tree import Row

if TYPE_CHECKING:
    from rewind.checkpoint.changes.turn_changes import Changes

_PATIENCE = 0.4  # seconds for counting changes that are not cached
SESSION, PROMPT, CHECKPOINT, NOW = "session", "prompt", "checkpoint", "now"
EDIT, OPERATION, LANE = "edit", "operation", "lane"  # only in `in_order.py`


class Item:
    """One line of the map. The `record` of a prompt is the checkpoint made just before it, if any."""

    __slots__ = ("changes", "depth", "here", "kind", "lane", "letter", "offset", "record", "row", "session",
                 "text", "time", "turn", "under", "uuid")

    def __init__(self, kind: str, text: str, time: float, depth: int = 0, *,
                 session: SessionInfo | None = None, record: Record | None = None) -> None:
        self.kind = kind
        self.text = text
        self.time = time
        self.depth = depth
        self.session = session
        self.record = record
        self.turn: int | None = None
        self.offset = 0
        self.uuid = ""
        self.changes: Changes | None = None  # what a turn did to the files, if that is known
        self.here = False  # the project is at this checkpoint
        self.row: MapRow | None = None  # its row of the map
        self.under: list[Item] = []  # checkpoints of this turn
        self.lane: Lane | None = None  # the future that it belongs to
        self.letter = ""  # of its session, if the map has several

    @property
    def key(self) -> tuple[str, ...]:
        """Identifies the line when the map is read again."""
        session = self.session.session_id if self.session else ""
        name = self.record.name if self.record and (self.kind in (CHECKPOINT, EDIT) or not self.uuid) else ""
        if self.row and self.row.op:
            name = self.row.op.id
        return (self.kind, session if self.kind in (SESSION, PROMPT) else "", self.uuid, name)

    @property
    def session_id(self) -> str:
        """Of its session, even if the transcript is gone."""
        return self.session.session_id if self.session else (self.row.session or "" if self.row else "")

    def target(self) -> Target:
        """What to go back to: the moment before a prompt, or a checkpoint."""
        if self.kind == PROMPT and self.session:
            return AtTurn(self.session.session_id, uuid=self.uuid)
        if self.record is None:
            raise RewindError("There is nothing to go back to here.", hint="Choose a prompt or a checkpoint.")
        return AtCheckpoint(self.record.name)

    @property
    def has_conversation(self) -> bool:
        if self.kind == EDIT:
            return False
        captured = bool(self.record and self.record.data.get("hasTranscript"))
        return (self.kind == PROMPT and self.session is not None) or captured


class ProjectMap:
    def __init__(self, items: list[Item], checkpoints: int, sessions: list[SessionInfo]) -> None:
        self.items = items
        self.checkpoints = checkpoints
        self.sessions = sessions


def map_by_session(state: State) -> ProjectMap:
    """Oldest first; the last item is the project as it is now."""
    state.refresh()
    records = state.timeline.shown()[::-1]
    infos = session_infos(state)
    items = _BySession(state, records, infos).items()
    current = here(state)
    for item in items:
        item.here = bool(item.record and current and item.record.name == current.name)
    _add_changes(state, items)
    return ProjectMap([*items, Item(NOW, "Now", 0.0)], len(records), infos)


def _add_changes(state: State, items: list[Item]) -> None:
    """What each turn did, as in `list`. Changes that are not counted in time are counted at the next call."""
    rows = {row.before.name: row for row in turn_map(state, everywhere=True)
            if row.kind == TURN and row.before}
    add_changes(state, list(rows.values()), _PATIENCE)
    for item in items:
        if item.kind == PROMPT and item.record and item.record.name in rows:
            item.changes = rows[item.record.name].changes


def stamp(state: State) -> str:
    """A text that changes whenever the map changes."""
    parts = [_changed(state.project.path(name)) for name in
             ("checkpoints", "branches.json", OPERATIONS)]
    files = project_sessions(state.area(), home=state.project.home)
    return " ".join([*parts, *(f"{f.session_id}:{f.size}:{f.modified}" for f in files)])


def _changed(path: str) -> str:
    try:
        return str(os.stat(path).st_mtime_ns)
    except OSError:
        return "-"


class _BySession:
    def __init__(self, state: State, records: list[Record], infos: list[SessionInfo]) -> None:
        self.state = state
        known = {info.session_id for info in infos}
        self.tops = [info for info in infos if info.parent not in known]
        self.children: dict[str | None, list[SessionInfo]] = {}
        for info in infos:
            if info.parent in known:
                self.children.setdefault(info.parent, []).append(info)
        self.own: dict[str, list[Record]] = {}
        self.loose: list[Record] = []  # made without a conversation, or its transcript is gone
        for record in records:
            session = session_of(record)
            if session in known:
                self.own.setdefault(session, []).append(record)
            else:
                self.loose.append(record)

    def items(self) -> list[Item]:
        blocks = [(record.created, [_of_record(record, 0)]) for record in self.loose]
        for info in self.tops:
            found = self._session(info, 0)
            blocks.append((max([item.time for item in found]), found))
        return [item for _, block in sorted(blocks, key=lambda pair: pair[0]) for item in block]

    def _session(self, info: SessionInfo, depth: int) -> list[Item]:
        """The session's own turns. Those of a fork begin where it left its parent."""
        rows = self._rows(info)
        shared = (info.rewind_from_turn or 0) if depth else 0
        placed = _by_turn(self.own.get(info.session_id, []), rows)
        forks: dict[int, list[SessionInfo]] = {}
        for child in sorted(self.children.get(info.session_id, []), key=lambda c: c.file.modified):
            forks.setdefault(min(child.rewind_from_turn or 0, len(rows)), []).append(child)
        items = [Item(SESSION, info.name, info.file.modified, depth, session=info)]
        for turn in range(len(rows) + 1):
            prompt = _of_prompt(info, rows[turn - 1], depth) if turn > shared else None
            items += [prompt] if prompt else []
            items += _with_records(prompt, placed.get(turn, []), info, depth)
            for child in forks.get(turn, []):
                items += self._session(child, depth + 1)
        return items

    def _rows(self, info: SessionInfo) -> list[Row]:
        try:
            index = open_turns(info.file.path, info.file.profile, self.state.derived)
        except (RewindError, OSError):
            return []  # deleted since it was found
        return index.turns(1, index.total)


def _by_turn(records: list[Record], rows: list[Row]) -> dict[int, list[Record]]:
    """Records by the number of the turn in which they were made: the length of the transcript at that time
    tells. A prompt's own checkpoint is made before its line is written, so it belongs to the next turn."""
    found: dict[int, list[Record]] = {}
    for record in records:
        place = noted_place(record)
        before = sum(1 for row in rows if row.offset < place)
        own = record.trigger.get("event") == "UserPromptSubmit" and before < len(rows)
        found.setdefault(before + own, []).append(record)
    return found


def _with_records(prompt: Item | None, records: list[Record], info: SessionInfo, depth: int) -> list[Item]:
    """A prompt and its own checkpoint are one line. At the same place there may be the checkpoint of another
    prompt, which the agent's own rewind left behind; it stays a line of its own."""
    items = []
    for record in records:
        if prompt and prompt.record is None and _is_of(record, prompt):
            prompt.record = record
        else:
            items.append(_of_record(record, depth, info, prompt.turn if prompt else None))
    return items


def _is_of(record: Record, prompt: Item) -> bool:
    recorded = record.trigger.get("promptText")
    same = not isinstance(recorded, str) or prompt_start(recorded) == prompt_start(prompt.text)
    return same and record.trigger.get("event") == "UserPromptSubmit"


def _of_prompt(info: SessionInfo, row: Row, depth: int) -> Item:
    item = Item(PROMPT, row.prompt, seconds_of(row.stamp) or 0.0, depth, session=info)
    item.turn, item.offset, item.uuid = row.turn, row.offset, row.uuid
    return item


def _of_record(record: Record, depth: int, info: SessionInfo | None = None,
               turn: int | None = None) -> Item:
    item = Item(CHECKPOINT, record.description or _KINDS.get(record.kind, record.kind), record.created,
                depth, session=info, record=record)
    item.turn = turn
    return item


_KINDS = {"manual": "Saved by hand", "initial": "First checkpoint", "auto": "Checkpoint"}
