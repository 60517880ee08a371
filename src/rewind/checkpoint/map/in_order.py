"""The map of all sessions in the order in which things happened, oldest first.

The rows are those of `rewind list`. The transcripts add prompts without a checkpoint, titles of sessions, and
the place of a prompt in its conversation.
"""

from __future__ import annotations

from bisect import bisect_right

from rewind.checkpoint.map.by_session import (
    CHECKPOINT,
    EDIT,
    NOW,
    OPERATION,
    PROMPT,
    SESSION,
    Item,
    ProjectMap,
    map_by_session,
)
from rewind.checkpoint.map.facts import add_changes, add_turns
from rewind.checkpoint.map.lanes import lane_items
from rewind.checkpoint.map.turn_map import EDIT as EDIT_ROW
from rewind.checkpoint.map.turn_map import TURN, MapRow, turn_map
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.records.timeline import Brief
from rewind.checkpoint.rewind.operation_words import describe
from rewind.words import and_more

_PATIENCE = 0.4  # seconds for counting changes that are not cached
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def map_in_order(state: State) -> ProjectMap:
    """The heading of a session comes before its first item. The last item is the project as it is now."""
    found = map_by_session(state)
    rows = turn_map(state)[::-1]
    add_turns(state, rows)
    add_changes(state, rows, _PATIENCE)
    builder = _MapBuilder(state, found.items)
    items = _with_headings(builder.placed(rows), found.items)
    _add_letters(items)
    now = Item(NOW, "Now", 0.0)
    now.row = next((row for row in rows if row.here), None)  # where the project is
    return ProjectMap([*items, *lane_items(state, rows), now], found.checkpoints, found.sessions)


class _MapBuilder:
    def __init__(self, state: State, items: list[Item]) -> None:
        self.state = state
        self.prompts = [item for item in items if item.kind == PROMPT]
        self.sessions = {item.session.session_id: item.session for item in items if item.session}
        self._of_prompt = {item.record.name: item for item in self.prompts if item.record}
        self._checkpoints = {item.record.name: item for item in items
                             if item.record and item.kind == CHECKPOINT}
        self._ops = {op.id: op for op in state.operations().all}

    def placed(self, rows: list[MapRow]) -> list[Item]:
        """The rows, and the prompts without a row: each between its neighbours of the same session, and there
        by its time."""
        items = [item for item in map(self._item, rows) if item]
        at = {id(item): number for number, item in enumerate(items)}
        latest, times = 0.0, []
        for item in items:
            latest = max(latest, item.time)
            times.append(latest)
        found = [((float(number), 0), item) for number, item in enumerate(items)]
        lower: dict[str, int] = {}
        uppers = self._next_rows(at, len(items))
        for count, item in enumerate(self.prompts):
            session, upper = item.session_id, uppers[count]
            if id(item) in at:
                lower[session] = at[id(item)] + 1
                continue
            place = bisect_right(times, item.time) if item.time else lower.get(session, upper)
            place = max(lower.get(session, 0), min(place, upper))
            lower[session] = place
            found.append(((place - 0.5, count), item))
        return [item for _, item in sorted(found, key=lambda pair: pair[0])]

    def _next_rows(self, at: dict[int, int], end: int) -> list[int]:
        """For each prompt, the place of the next prompt of its session that has a row."""
        following: dict[str, int] = {}
        found = []
        for item in reversed(self.prompts):
            found.append(following.get(item.session_id, end))
            if id(item) in at:
                following[item.session_id] = at[id(item)]
        return found[::-1]

    def _item(self, row: MapRow) -> Item | None:
        item = self._of_row(row)
        if item:
            item.row, item.changes, item.here, item.time = row, row.changes, row.here, row.time
        return item

    def _of_row(self, row: MapRow) -> Item | None:
        if row.op:
            undone = ", undone" if row.op.undone else ""
            return Item(OPERATION, describe(row.op, self._ops) + undone, row.time)
        if row.kind == TURN:
            return self._turn(row)
        if row.kind == EDIT_ROW:
            return Item(EDIT, _edited(row), row.time, record=self._record(row.before))
        found = self._checkpoints.get(row.record.name) if row.record else None
        return found or Item(CHECKPOINT, row.text or "Checkpoint", row.time, record=self._record(row.record))

    def _turn(self, row: MapRow) -> Item | None:
        item = self._of_prompt.get(row.before.name) if row.before else None
        if item is None:  # the conversation left it behind, or is gone
            item = Item(PROMPT, row.text, row.time, record=self._record(row.before))
        own = row.before.name if row.before else ""
        item.under = [one for one in map(self._part, row.checkpoints)
                      if one and one.record and one.record.name != own]
        return item

    def _part(self, brief: Brief) -> Item | None:
        found = self._checkpoints.get(brief.name)
        if found:
            return found
        record = self._record(brief)
        return Item(CHECKPOINT, brief.description, brief.created, record=record) if record else None

    def _record(self, brief: Brief | None) -> Record | None:
        """None if it was deleted or damaged since; `rewind list` reports that."""
        return self.state.files.find(brief.name) if brief else None


def _edited(row: MapRow) -> str:
    who = "changed meanwhile" if row.by_others else "you changed"
    if row.changes is None:
        return f"{who} files"
    names = [str(file["path"]) for file in row.changes["files"]]
    return f"{who} {and_more(names, 2, len(names) + row.changes['more']) if names else 'directories'}"


def _with_headings(items: list[Item], by_session: list[Item]) -> list[Item]:
    headings = {item.session_id: item for item in by_session if item.kind == SESSION}
    waiting = dict(headings)
    found: list[Item] = []
    for item in items:
        heading = waiting.pop(item.session_id, None) if item.session_id else None
        found += [heading, item] if heading else [item]
    for heading in sorted(waiting.values(), key=lambda item: item.time):  # nothing of its own yet
        later = [at for at, item in enumerate(found) if item.kind != SESSION and item.time > heading.time]
        found.insert(later[0] if later else len(found), heading)
    return found


def _add_letters(items: list[Item]) -> None:
    """If several sessions have turns, each gets a letter, in order of appearance."""
    sessions = list(dict.fromkeys(item.session_id for item in items if item.kind == PROMPT))
    if len(sessions) < 2:
        return
    letters = {session: _LETTERS[number] if number < len(_LETTERS) else str(number + 1)
               for number, session in enumerate(sessions)}
    for item in items:
        item.letter = letters.get(item.session_id, "") if item.session_id else ""
