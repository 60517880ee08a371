"""Which checkpoint has the code as it was when a prompt was given."""

from __future__ import annotations

from rewind.agents.profile import pick
from rewind.checkpoint.branches import Branches
from rewind.transcript.cursor import header_length
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
    mine = [r for r in records if _session(r) == session.session_id]
    with open_transcript(session.path) as file:
        # By id over all sessions: a fork has its parent's lines, and ids are unique.
        found = _of_prompt(file, session.profile, boundary, records) or _of_first_tool(
            file, session.profile, boundary, records)
        if found:
            return CodeAt(found, True)
        near = _last_before(mine, boundary - header_length(file))
        if near is None:
            near = _of_ancestors(state, session, records, boundary - header_length(file))
    return CodeAt(near, False) if near else None


def _session(record: Record) -> Any:
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


def _last_before(records: list[Record], body_offset: int) -> Record | None:
    """The newest whose place in the conversation is not after the prompt, line 1 apart."""
    for record in reversed(records):
        cursor = (record.data.get("transcript") or {}).get("cursor")
        if isinstance(cursor, dict):
            end, header = cursor.get("byte_offset_end"), cursor.get("header_bytes")
            if isinstance(end, int) and isinstance(header, int) and end - header <= body_offset:
                return record
    return None


def _of_ancestors(state: State, session: SessionFile, records: list[Record],
                  body_offset: int) -> Record | None:
    """A fork begins with its parent's bytes, so up to where it was cut the parent's checkpoints count."""
    branches = Branches(state)
    seen = {session.session_id}
    at = branches.find(session.session_id)
    while at and at.get("parentSessionId") and at["parentSessionId"] not in seen:
        parent = at["parentSessionId"]
        seen.add(parent)
        cut, header = at.get("cutAt"), at.get("header")
        if isinstance(cut, int) and isinstance(header, int):
            body_offset = min(body_offset, cut - header)
        found = _last_before([r for r in records if _session(r) == parent], body_offset)
        if found:
            return found
        at = branches.find(parent)
    return None
