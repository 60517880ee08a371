"""Which checkpoints have the code as it was between the turns of a conversation, for many turns at once.

`code_for.py` finds it out for one prompt with all care; this serves pages of turns from what is known anyway.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from rewind.checkpoint.code_for import CodeAt, family, is_on_branch, session_of
from rewind.transcript.cursor import place_in
from rewind.transcript.lines import open_transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from rewind.checkpoint.record import Record
    from rewind.checkpoint.state import State
    from rewind.transcript.find import SessionFile
    from rewind.transcript.turn_blocks import TurnText

_AFTER_A_TURN = ("Stop", "SessionEnd", "")  # an empty one: saved by a person
_PATIENCE = 8  # records that are looked at closely for one prompt


class TurnCodes:
    def __init__(self, state: State, session: SessionFile) -> None:
        self.session = session
        self.records = [r for r in state.timeline.all() if r.kind != "backup"]
        self._sequences = [r.sequence for r in self.records]
        self._by_prompt: dict[object, Record] = {}
        self._by_tool: dict[object, Record] = {}
        for record in self.records:
            trigger = record.trigger
            if trigger.get("event") == "UserPromptSubmit":
                self._by_prompt.setdefault(trigger.get("promptId"), record)  # the earliest
            elif trigger.get("event") == "PreToolUse":
                self._by_tool[trigger.get("toolUseId")] = record
        self._by_prompt.pop(None, None)
        self._by_tool.pop(None, None)
        self._near = [[r for r in self.records if session_of(r) == id]
                      for id in family(state, session.session_id)]
        self._places: dict[str, int | None] = {}

    def before(self, turn: TurnText) -> CodeAt | None:
        """The code as it was when the turn's prompt was given."""
        found = self._by_prompt.get(turn.join) if isinstance(turn.join, str) else None
        found = found or (self._by_tool.get(turn.first_tool) if turn.first_tool else None)
        if found:
            return CodeAt(found, not found.trigger.get("late"))
        if not any(self._near):
            return None
        with open_transcript(self.session.path) as file:
            return self._last_before(file, turn.row.offset)

    def _last_before(self, file: BinaryIO, boundary: int) -> CodeAt | None:
        for records in self._near:
            looked = 0
            for record in reversed(records):
                if _told_place(record) > boundary + (1 << 20):  # a rewritten line 1 moves it, not so far
                    continue
                looked += 1
                if looked > _PATIENCE:
                    break
                place = self._place(file, record)
                if place is not None and place <= boundary and is_on_branch(
                        file, self.session.profile, boundary, place):
                    return CodeAt(record, False)
        return None

    def _place(self, file: BinaryIO, record: Record) -> int | None:
        if record.name not in self._places:
            cursor = (record.data.get("transcript") or {}).get("cursor")
            self._places[record.name] = place_in(file, cursor) if isinstance(cursor, dict) else None
        return self._places[record.name]

    def after_last(self, offset: int, join: object) -> CodeAt | None:
        """The code as the last turn left it: the newest checkpoint that was made once it was over."""
        own = self._near[0] if self._near else []
        with open_transcript(self.session.path) as file:
            for record in list(reversed(own))[:_PATIENCE * 4]:
                event = str(record.trigger.get("event") or "")
                if event not in _AFTER_A_TURN:
                    continue
                place = self._place(file, record)
                is_its_own = bool(join) and record.trigger.get("promptId") == join
                if is_its_own or (place is not None and place > offset):
                    return CodeAt(record, not record.trigger.get("late"))
        return None

    def as_left(self, before: CodeAt, after: CodeAt | None) -> Record | None:
        """What the turn after `before` made of the code; `after` is what was there when this conversation
        went on. In between the turns that a branch leaves out, or others, may have changed the code: then it
        is what the session that the turn ran in had next."""
        session, last = session_of(before.record), None
        for record in self._since(before.record, after):
            if session_of(record) != session:
                continue
            event = record.trigger.get("event")
            if event == "UserPromptSubmit" and not _same_prompt(record, before.record):
                return record
            last = record if event == "Stop" else last
        if after and session_of(after.record) == session:
            return after.record
        return last or (after.record if after else None)

    def _since(self, record: Record, after: CodeAt | None) -> list[Record]:
        start = bisect_right(self._sequences, record.sequence)
        end = bisect_left(self._sequences, after.record.sequence) if after else len(self._sequences)
        return self.records[start:end]

    def newest(self) -> Record | None:
        """The latest checkpoint of this very session."""
        return self._near[0][-1] if self._near and self._near[0] else None


def _same_prompt(one: Record, other: Record) -> bool:
    """A prompt that was typed while a turn ran has that turn's id, and does not end it."""
    id = one.trigger.get("promptId")
    return bool(id) and id == other.trigger.get("promptId")


def _told_place(record: Record) -> int:
    place = ((record.data.get("transcript") or {}).get("cursor") or {}).get("byte_offset_end")
    return place if isinstance(place, int) else 0
