"""Which checkpoint has the code as it was when a prompt was given."""

from __future__ import annotations

from rewind.agents.profile import pick
from rewind.checkpoint.branches import Branches
from rewind.checkpoint.record import is_timestamp, timestamp
from rewind.transcript.chain import Tail
from rewind.transcript.cursor import place_in
from rewind.transcript.entries import entry_of
from rewind.transcript.lines import events_forward, open_transcript
from rewind.transcript.prompts import content_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from rewind.agents.profile import Profile
    from rewind.checkpoint.record import Record
    from rewind.checkpoint.state import State
    from rewind.transcript.find import SessionFile

_LONGEST_TURN = 64 << 20  # so far a turn is searched for its first tool call


class CodeAt:
    def __init__(self, record: Record, exact: bool) -> None:
        self.record = record
        self.exact = exact


def code_at_prompt(state: State, session: SessionFile, boundary: int) -> CodeAt | None:
    """The prompt's own checkpoint; that before its turn's first tool call; else the last one before it."""
    records = [r for r in state.timeline.all() if r.kind != "backup"]
    with open_transcript(session.path) as file:
        # By id over all sessions: a fork has its parent's lines, and ids are unique.
        found = _of_prompt(file, session.profile, boundary, records) or _of_first_tool(
            file, session.profile, boundary, records)
        if found:
            # One that was made late may hold what the turn did already.
            return CodeAt(found, not found.trigger.get("late"))
        for id in family(state, session.session_id):
            near = _last_before(file, session.profile, boundary, [r for r in records if session_of(r) == id])
            if near:
                return CodeAt(near, False)
        earlier = _made_before(file, session.profile, boundary, records)
    return CodeAt(earlier, False) if earlier else None


def family(state: State, session_id: str) -> list[str]:
    """The session and those it was forked from: a fork begins with its parent's bytes."""
    branches = Branches(state)
    found: list[str] = []
    at: str | None = session_id
    while at and at not in found:
        found.append(at)
        at = branches.parent_of(at)
    return found


def session_of(record: Record) -> Any:
    transcript = record.data.get("transcript")
    own = transcript.get("sessionId") if isinstance(transcript, dict) else None
    return own or record.trigger.get("session")


def _of_prompt(file: BinaryIO, profile: Profile, boundary: int, records: list[Record]) -> Record | None:
    """Of several with this id the earliest: the others are of prompts that were typed meanwhile."""
    key = profile.prompt["joinKey"]
    event = next(events_forward(file, boundary), None)
    wanted = pick(event.data, key) if event and key else None
    if not wanted:
        return None
    return next((r for r in records if r.trigger.get("event") == "UserPromptSubmit"
                 and r.trigger.get("promptId") == wanted), None)


def _of_first_tool(file: BinaryIO, profile: Profile, boundary: int, records: list[Record]) -> Record | None:
    before = {r.trigger.get("toolUseId"): r for r in records if r.trigger.get("event") == "PreToolUse"}
    before.pop(None, None)
    if not before:
        return None
    for event in events_forward(file, boundary):
        entry = entry_of(event, profile)
        if event.offset - boundary > _LONGEST_TURN or (entry and entry.is_prompt and event.offset > boundary):
            return None
        content = content_of(event.data, profile)
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_use":
                return before.get(block.get("id"))  # only the first: later ones saw its work
    return None


def _last_before(file: BinaryIO, profile: Profile, boundary: int, records: list[Record]) -> Record | None:
    """The newest whose place in this very conversation is before the prompt, and on its branch."""
    for record in reversed(records):
        cursor = (record.data.get("transcript") or {}).get("cursor")
        place = place_in(file, cursor) if isinstance(cursor, dict) else None
        if place is not None and place <= boundary and is_on_branch(file, profile, boundary, place):
            return record
    return None


def _made_before(file: BinaryIO, profile: Profile, boundary: int, records: list[Record]) -> Record | None:
    """The newest by the clock, of whatever session or of none: the first one is older than them all."""
    event = next(events_forward(file, boundary), None)
    stamp = pick(event.data, profile.lines["timestamp"]) if event and profile.lines.get("timestamp") else None
    if not isinstance(stamp, str) or not is_timestamp(stamp):
        return None
    return next((r for r in reversed(records)
                 if not r.data.get("imported") and r.created <= timestamp(stamp)), None)


def is_on_branch(file: BinaryIO, profile: Profile, boundary: int, place: int) -> bool:
    """Whether the turn that was going on at `place` leads to the prompt at `boundary`."""
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
