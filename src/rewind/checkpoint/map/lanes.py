"""Futures in the map of the project. Each is a line of its own from where it branched off."""

from __future__ import annotations

from rewind.checkpoint.futures.known.lane import Lane, OpenPlace, lanes, read_progress, session_of
from rewind.checkpoint.map.by_session import LANE, Item
from rewind.checkpoint.map.turn_map import MapRow
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import seconds_of
from rewind.errors import RewindError
from rewind.transcript.turns.turn_index import open_turns

_MOST_TURNS = 20  # of one future; `rewind list` in its directory shows all


def lane_items(state: State, rows: list[MapRow]) -> list[Item]:
    """For each future, its name and its own turns."""
    at = _rows_by_checkpoint(rows)
    return [item for lane in _known(state) for item in _items(state, lane, at.get(lane.point))]


def _known(state: State) -> list[Lane]:
    try:
        return [read_progress(state, lane) for lane in lanes(state)]
    except (RewindError, OSError):
        return []  # `rewind forks` reports what is wrong


def _rows_by_checkpoint(rows: list[MapRow]) -> dict[str, MapRow]:
    """The row below which a future is shown, by the checkpoint that it was made from. For the checkpoint
    before a turn, that is the row before the turn."""
    found: dict[str, MapRow] = {}
    for row in rows:
        for brief in (*row.checkpoints, row.record, row.after):
            if brief:
                found[brief.name] = row
    for row in rows:
        if row.before:
            found[row.before.name] = row.parent or row
    return found


def _items(state: State, lane: Lane, parent: MapRow | None) -> list[Item]:
    heading = _item(lane, "", lane.name, 0.0, parent)
    heading.changes = lane.changes
    found, row = [heading], heading.row
    for number, prompt, time in _turns(state, lane):
        item = _item(lane, str(number), prompt, time, row)
        item.turn, row = number, item.row
        heading.time = heading.time or time
        found.append(item)
    return found


def _item(lane: Lane, mark: str, text: str, time: float, parent: MapRow | None) -> Item:
    item = Item(LANE, text, time)
    item.uuid, item.lane = f"{lane.session_id}:{mark}", lane
    item.row = MapRow(LANE, text, time, None, None)
    item.row.parent = parent
    return item


def _turns(state: State, lane: Lane) -> list[tuple[int, str, float]]:
    if lane.half_made or lane.half_removed or not lane.turns:
        return []
    with OpenPlace(state, lane) as there:
        file = session_of(there, lane)
        if file is None:
            return []
        index = open_turns(file.path, file.profile, there.derived)
        rows = index.turns(max(index.total - min(lane.turns, _MOST_TURNS), 0) + 1, index.total)
    return [(row.turn, row.prompt, seconds_of(row.stamp) or 0.0) for row in rows if row.turn]
