"""Which checkpoint has the code of a turn: as it was before the prompt, and as the turn left it.

Everything uses this file to decide that, for example the plan of a rewind and the page of turns.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import BinaryIO

from rewind.agents.profile import Profile, pick
from rewind.checkpoint.operation_log.operations import FUTURE
from rewind.checkpoint.project.known_forks import ancestors
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record, cursor_of, noted_place, seconds_of, session_of
from rewind.index import MAIN
from rewind.transcript.find import SessionFile
from rewind.transcript.place.cursor import place_in
from rewind.transcript.read.chain import Tail
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.entries import entry_of
from rewind.transcript.read.lines import events_forward
from rewind.transcript.read.prompts import blocks_of, prompt_text
from rewind.transcript.turns.turn_blocks import TurnText
from rewind.transcript.turns.turn_index import open_turns

_LONGEST_TURN = 64 << 20  # bytes of a turn that are searched for its first tool call
_AFTER_A_TURN = ("Stop", "SessionEnd", "")  # "" is a save by a person
_SLACK = 1 << 20  # a rewritten line 1 moves a place by less than this
_ANY = 1 << 62
_LATEST = 32  # records that are searched for the end of the last turn


class CodeAt:
    """`exact` is false if this is only the last checkpoint before the prompt."""

    def __init__(self, record: Record, exact: bool) -> None:
        self.record = record
        self.exact = exact


class PromptAt:
    """What identifies a prompt: its offset, the keys that hooks recorded, its time and its text."""

    def __init__(self, offset: int, join: object, first_tool: str | None, stamp: object,
                 text: str = "", previous_stamp: object = None) -> None:
        self.offset = offset
        self.join = join
        self.first_tool = first_tool
        self.stamp = stamp
        self.text = text
        self.previous_stamp = previous_stamp  # of the prompt before, if hooks record no key


def prompt_of(turn: TurnText) -> PromptAt:
    return PromptAt(turn.row.offset, turn.join, turn.first_tool, turn.row.stamp, turn.prompt)


def read_prompt_at(session: SessionFile, offset: int) -> PromptAt:
    with open_conversation(session.path, session.profile) as file:
        return prompt_at(file, session.profile, offset)


def prompt_at(file: BinaryIO, profile: Profile, offset: int) -> PromptAt:
    key, stamp = profile.prompt["joinKey"], profile.lines.get("timestamp")
    event = next(events_forward(file, offset), None)
    return PromptAt(offset, pick(event.data, key) if event and key else None,
                    _first_tool(file, profile, offset),
                    pick(event.data, stamp) if event and stamp else None,
                    prompt_text(event.data, profile) if event else "",
                    None if key else _stamp_before(file, profile, offset))


def _stamp_before(file: BinaryIO, profile: Profile, offset: int) -> object:
    tail, stamp = Tail(file, profile, offset), profile.lines.get("timestamp")
    before = next((entry for entry in tail.chain() if entry.is_prompt), None)
    event = next(events_forward(file, before.offset), None) if before else None
    return pick(event.data, stamp) if event and stamp else None


def _first_tool(file: BinaryIO, profile: Profile, boundary: int) -> str | None:
    for event in events_forward(file, boundary):
        entry = entry_of(event, profile)
        if event.offset - boundary > _LONGEST_TURN or (entry and entry.is_prompt and event.offset > boundary):
            return None
        for block in blocks_of(event.data, profile):
            if block.get("type") == "tool_use":
                id = block.get("id")
                return id if isinstance(id, str) else None  # later calls come after changes of the turn
    return None


def code_before(state: State, session: SessionFile, offset: int) -> CodeAt | None:
    """The code as it was when the prompt at this offset was given."""
    return SessionCode(state, session).before(read_prompt_at(session, offset))


class SessionCode:
    """The checkpoints of one session's turns, prepared once for many questions."""

    def __init__(self, state: State, session: SessionFile) -> None:
        self.session = session
        self._last_past = last_past_sequences(state)
        self.records = [r for r in state.timeline.all() if r.kind != "backup"
                        and (r.shared or self._is_past(r))]
        self._sequences = [r.sequence for r in self.records]
        self._by_prompt: dict[object, Record] = {}
        self._meanwhile: dict[object, list[Record]] = {}
        self._by_tool: dict[object, Record] = {}
        # Ids are unique over all sessions, and a fork contains its parent's lines.
        for record in self.records:
            trigger = record.trigger
            if trigger.get("event") == "UserPromptSubmit":
                # The earliest counts: the others belong to prompts that were typed while the turn ran.
                first = self._by_prompt.setdefault(trigger.get("promptId"), record)
                if first is not record:
                    self._meanwhile.setdefault(trigger.get("promptId"), []).append(record)
            elif trigger.get("event") == "PreToolUse":
                self._by_tool[trigger.get("toolUseId")] = record
        self._by_session = [[r for r in self.records if session_of(r) == id]
                            for id in session_and_ancestors(state, session.session_id)]
        self._places: dict[str, int | None] = {}

    def _is_past(self, record: Record) -> bool:
        """Whether this place once stood on it. Shared checkpoints are never part of the past."""
        return record.sequence <= self._last_past.get(record.place, -1)

    def before(self, prompt: PromptAt) -> CodeAt | None:
        """The prompt's own checkpoint, else the one before its turn's first tool call, else the last one
        before the prompt."""
        found = self.recorded(prompt)
        if found:
            return found
        near = self._last_before(prompt.offset) or self._made_before(prompt.stamp)
        return CodeAt(near, False) if near else None

    def recorded(self, prompt: PromptAt) -> CodeAt | None:
        """The checkpoint that was made for this prompt or for the first tool call of its turn."""
        found = self._of_prompt(prompt) if isinstance(prompt.join, str) and prompt.join else None
        found = found or (self._by_tool.get(prompt.first_tool) if prompt.first_tool else None)
        if found is None and not self.session.profile.prompt["joinKey"]:
            found = self._of_moment(prompt)
        # A late checkpoint may contain changes of the turn.
        return CodeAt(found, not found.trigger.get("late")) if found else None

    def _of_prompt(self, prompt: PromptAt) -> Record | None:
        """Found by the prompt's id. A prompt that Codex got while a turn ran has that turn's id, so the text
        decides then."""
        found = self._by_prompt.get(prompt.join)
        if found is None or prompt.join not in self._meanwhile or _says(found, prompt.text):
            return found
        return next((r for r in self._meanwhile[prompt.join] if _says(r, prompt.text)), found)

    def _of_moment(self, prompt: PromptAt) -> Record | None:
        """For agents whose hooks get no key of a prompt: the last checkpoint before the prompt with the same
        text, unless another prompt came in between."""
        until, since = seconds_of(prompt.stamp), seconds_of(prompt.previous_stamp)
        if until is None:
            return None
        for records in self._by_session:
            for record in reversed(records):
                if (record.trigger.get("event") == "UserPromptSubmit" and record.created <= until
                        and _says(record, prompt.text)):
                    return record if since is None or record.created >= since else None
        return None

    def _last_before(self, boundary: int) -> Record | None:
        """The newest checkpoint whose place in this conversation is before the prompt and on its branch."""
        if not any(self._by_session):
            return None
        with open_conversation(self.session.path, self.session.profile) as file:
            for records in self._by_session:
                for record in reversed(records):
                    if noted_place(record) > boundary + _SLACK:
                        continue
                    place = self._place(file, record)
                    if place is not None and place <= boundary and is_on_branch(
                            file, self.session.profile, boundary, place):
                        return record
        return None

    def _made_before(self, stamp: object) -> Record | None:
        """The newest checkpoint by the clock, of any session or none. The first one is older than all
        sessions."""
        at = seconds_of(stamp)
        if at is None:
            return None
        return next((r for r in reversed(self.records)
                     if not r.imported and self._is_past(r) and r.created <= at), None)

    def _place(self, file: BinaryIO, record: Record) -> int | None:
        if record.name not in self._places:
            self._places[record.name] = place_in(file, cursor_of(record))
        return self._places[record.name]

    def after_last(self, prompt: PromptAt) -> CodeAt | None:
        """The code as the last turn left it: the newest checkpoint that was made after it."""
        own = self._by_session[0] if self._by_session else []
        with open_conversation(self.session.path, self.session.profile) as file:
            for record in list(reversed(own))[:_LATEST]:
                if str(record.trigger.get("event") or "") not in _AFTER_A_TURN:
                    continue
                place = self._place(file, record)
                is_its_own = bool(prompt.join) and record.trigger.get("promptId") == prompt.join
                if is_its_own or (place is not None and place > prompt.offset):
                    return CodeAt(record, not record.trigger.get("late"))
        return None

    def end_of_turn(self, before: CodeAt, after: CodeAt | None) -> Record | None:
        """The code at the end of the turn that began at `before`. `after` is the code at the next prompt of
        this conversation. Changes between the end of a turn and the next prompt are a person's, so the
        checkpoint of the turn's end counts. Without one, the next prompt of the session that the turn ran in
        counts rather than `after`: turns that are not part of this fork may have changed the code in
        between."""
        session, end = session_of(before.record), None
        for record in self._since(before.record, after):
            if session_of(record) != session:
                continue
            event = record.trigger.get("event")
            if event == "UserPromptSubmit" and not _same_prompt(record, before.record):
                return end or record
            end = record if event == "Stop" else end
        return end or (after.record if after else None)

    def _since(self, record: Record, after: CodeAt | None) -> list[Record]:
        start = bisect_right(self._sequences, record.sequence)
        end = bisect_left(self._sequences, after.record.sequence) if after else len(self._sequences)
        return self.records[start:end]

    def newest(self) -> Record | None:
        """The latest checkpoint of this session itself."""
        return self._by_session[0][-1] if self._by_session and self._by_session[0] else None


def last_past_sequences(state: State) -> dict[str, int]:
    """Place -> the number of the last checkpoint there that belongs to the past of this place. A fork with a
    directory of its own continues from a checkpoint of another place."""
    found = {state.place: _ANY}
    if state.place == MAIN:
        return found
    began = {op.place: op.begun for op in state.operations().all if op.command == FUTURE and op.ended}
    at = state.place
    while at in began:
        sequence, at = began[at].get("point"), str(began[at].get("origin") or MAIN)
        if at in found or not isinstance(sequence, int):
            break
        found[at] = sequence
    return found


def turn_code(state: State, session: SessionFile, turn: int,
              offset: int) -> tuple[CodeAt | None, Record | None]:
    """The code before a turn and at its end. The end is None while the turn is running, and if nothing was
    captured since. A `turn` of 0 is a prompt that is no longer part of the conversation."""
    codes = SessionCode(state, session)
    prompt = read_prompt_at(session, offset)
    before = codes.before(prompt)
    if before is None:
        return None, None
    index = open_turns(session.path, session.profile, state.derived)
    following = index.turns(turn + 1, turn + 1) if turn else []
    after = (codes.before(read_prompt_at(session, following[0].offset)) if following
             else codes.after_last(prompt))
    left = codes.end_of_turn(before, after)
    return before, left if left and left.sequence > before.record.sequence else None


def turn_span(state: State, session: SessionFile, turn: int, offset: int) -> tuple[str | None, str | None]:
    """The names of both checkpoints. None for the second means the project as it is now."""
    before, after = turn_code(state, session, turn, offset)
    return before.record.name if before else None, after.name if after else None


def session_and_ancestors(state: State, session_id: str) -> list[str]:
    """The session and those that it was forked from. A fork begins with its parent's bytes."""
    return ancestors(session_id, state.forks().parent_of)


def _same_prompt(one: Record, other: Record) -> bool:
    """Whether both have the same prompt id. A prompt that was typed while a turn ran has that turn's id and
    does not end the turn."""
    id = one.trigger.get("promptId")
    return bool(id) and id == other.trigger.get("promptId")


def _says(record: Record, text: str) -> bool:
    begins = str(record.trigger.get("promptText") or "").strip()
    return bool(begins) and text.strip().startswith(begins)


def is_on_branch(file: BinaryIO, profile: Profile, boundary: int, place: int) -> bool:
    """Whether the turn that was running at `place` is on the branch of the prompt at `boundary`."""
    if profile.links == "file-order":
        return True
    before = Tail(file, profile, place)
    turn = next((e for e in iter(before.more, None) if e.is_main and e.is_prompt), None)
    event = next(events_forward(file, boundary), None)
    prompt = entry_of(event, profile) if event else None
    if turn is None or prompt is None or not prompt.parent:
        return turn is None
    tail = Tail(file, profile, boundary)
    for entry in tail.chain_of(tail.find(prompt.parent)):
        if entry.offset <= turn.offset:
            return entry.id == turn.id
    return False
