"""Codex's rollouts: records in the order of the file, which may continue from a place in another file.

Codex records a prompt after the start of its turn, settings, and the message that the model gets. So a cut
that removes a prompt begins before the prompt's own line. Rollouts refer to one another by offsets, so none
is ever rewritten, and a fork is a complete copy. Seen with Codex 0.166.
"""

from __future__ import annotations

import os
import time

from rewind.agents.profile import pick
from rewind.errors import CannotFork
from rewind.files import write_all
from rewind.transcript.kinds.rollout_files import meta_of
from rewind.transcript.kinds.rollout_reading import record_kind
from rewind.transcript.place.cursor import header_length
from rewind.transcript.place.cut import Cut, after_tool, before_tool, events_around
from rewind.transcript.read.lines import (
    end_of_lines,
    events_backward,
    events_forward,
    line_of,
    lines_forward,
    parse,
    size_of,
)
from rewind.transcript.read.prompts import prompt_text
from rewind.transcript.write.content import Content, uuid_of, write_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from rewind.agents.profile import Profile
    from rewind.jsonfile import JsonObject
    from rewind.transcript.place.cut import Trigger
    from rewind.transcript.write.content import SessionNames

_MODES = (None, "legacy", "paginated")
_KNOWN_RECORDS = {b"session_meta", b"event_msg", b"response_item", b"turn_context", b"world_state",
                  b"compacted", b"token_usage_record"}
_ROLLED_BACK = b'"type":"thread_rolled_back"'  # of older versions: says which earlier lines count
_LOOKED_AT = 4 << 20  # how much of the beginning, and before a cut, is searched for unknown records
_TURN_ENDS = ("task_complete", "turn_aborted")

def new_session_id() -> str:
    """A UUID that begins with the time, like Codex's own, so that the file's name can be made from it
    alone."""
    return uuid_of(int(time.time() * 1000).to_bytes(6, "big") + os.urandom(10), 7)


# what a line is

def _turn_of(data: JsonObject) -> object:
    return pick(data, "payload.turn_id")


def _is_prompt(what: str) -> bool:
    return what in ("item UserMessage", "user_message")


# where a prompt begins, and where a checkpoint cuts

def start_of_prompt(file: BinaryIO, profile: Profile, offset: int) -> int:
    """The start of its turn. For a prompt that was typed while a turn ran, the message that the model got."""
    prompt = next(events_forward(file, offset), None)
    turn = _turn_of(prompt.data) if prompt else None
    start = offset
    for event in events_backward(file, offset):
        what = record_kind(event.data)
        if what == "task_started":
            return event.offset if turn in (None, _turn_of(event.data)) else start
        if what == "message user":
            start = event.offset if start == offset else start
        elif what != "message developer" and (
                _is_prompt(what) or what in _TURN_ENDS or what in _MODEL_RECORDS
                or what in ("session_meta", "compacted")):
            break
    return start


_MODEL_RECORDS = ("message assistant", "function_call", "function_call_output", "custom_tool_call",
                  "custom_tool_call_output", "local_shell_call", "reasoning", "item AgentMessage",
                  "agent_message")


def resolve_cut(file: BinaryIO, profile: Profile, offset: int, trigger: Trigger) -> Cut:
    finders = {"UserPromptSubmit": _before_prompt, "Stop": _after_turn, "PreToolUse": before_tool,
               "PostToolUse": after_tool}
    finder = finders.get(str(trigger.get("event")))
    cut = finder(file, profile, offset, trigger) if finder else None
    return cut or Cut(end_of_lines(file, min(offset, size_of(file))), None, finder is None)


def _before_prompt(file: BinaryIO, profile: Profile, offset: int, trigger: Trigger) -> Cut | None:
    """Found by the turn's id, and by the text if a turn has several prompts."""
    turn = trigger.get("promptId")
    text = str(trigger.get("promptText") or "").strip()
    first: int | None = None
    for event in events_around(file, offset):
        if not turn or _turn_of(event.data) != turn:
            continue
        what = record_kind(event.data)
        if what == "task_started":
            first = event.offset if first is None else first
        elif _is_prompt(what) and prompt_text(event.data, profile).startswith(text):
            return Cut(start_of_prompt(file, profile, event.offset))
    return Cut(first) if first is not None else None


def _after_turn(file: BinaryIO, profile: Profile, offset: int, trigger: Trigger) -> Cut | None:
    """Where another turn begins, or the end. The record that ends a turn is written after the hook."""
    for event in events_forward(file, offset):
        if record_kind(event.data) == "task_started" and _turn_of(event.data) != trigger.get("promptId"):
            return Cut(event.offset)
    return Cut(end_of_lines(file))


def turn_runs(file: BinaryIO) -> bool | None:
    """An interrupted turn has ended."""
    for event in events_backward(file):
        what = record_kind(event.data)
        if what == "task_started" or what in _TURN_ENDS:
            return what == "task_started"
    return None


# forks

def check_resumable(file: BinaryIO, profile: Profile, cut: Cut) -> None:
    lacks = getattr(file, "lacks", "")
    if lacks:
        raise CannotFork(reason=f"its beginning is in another file, which is missing or damaged ({lacks})",
                         hint="Checkpoints have their own copies: `rewind list`, then `rewind restore NAME`.")
    reason = _why_not(file, cut)
    if reason:
        raise CannotFork(reason=reason)


def _why_not(file: BinaryIO, cut: Cut) -> str:
    payload = meta_of(file).get("payload")
    if payload is None or cut.offset < header_length(file):
        return "its first line is missing"
    mode = payload.get("history_mode")
    if mode not in _MODES:
        return f"it was written by a Codex that keeps its history in another way ({str(mode)[:40]})"
    if payload.get("parent_thread_id") is not None:
        return "it is a subagent's"
    unknown = _unknown_record(file, cut.offset)
    return f"it has records that this version of Rewind does not know ({unknown})" if unknown else ""


def _unknown_record(file: BinaryIO, cut: int) -> str:
    """The kind of the first unknown record, which may mean anything. Only the beginning and what follows from
    a little before the cut are searched: records in between do not decide where the removed turn begins."""
    size = size_of(file)
    near = max(0, min(cut, size) - _LOOKED_AT)
    for start, end in [(0, size)] if near <= _LOOKED_AT else [(0, _LOOKED_AT), (near, size)]:
        for offset, raw in lines_forward(file, start, end):
            if start == offset > 0:
                continue  # probably the rest of a line
            kind = _kind_of_line(offset, raw)
            if kind is not None and (kind not in _KNOWN_RECORDS or (kind == b"session_meta" and offset)):
                return kind.decode("utf-8", "replace")[:40]
            if _ROLLED_BACK in raw[:400]:
                return "thread_rolled_back"
    return ""


def _kind_of_line(offset: int, raw: bytes) -> bytes | None:
    """Not parsed if it begins the way Codex writes it. None for a line that is not a record."""
    at = raw.find(b'"type":"', 0, 120)
    if raw.startswith(b'{"timestamp":"') and 0 < at < raw.find(b'"payload"', 0, 200):
        return raw[at + 8:raw.find(b'"', at + 8)]
    for event in parse(offset, raw):
        kind = event.data.get("type")
        return kind.encode("utf-8", "replace") if isinstance(kind, str) else b"?"
    return None


def write_session(fd: int, file: BinaryIO, profile: Profile, content: Content, names: SessionNames) -> None:
    """Line 1 gets the new id: with the old one, Codex 0.166 would continue the old thread."""
    meta, header = meta_of(file), header_length(file)
    payload = {**meta["payload"], "id": names.session, "session_id": names.session,
               "forked_from_id": names.parent}
    payload.pop("forked_from_ordinal_exclusive", None)
    write_all(fd, line_of({**meta, "payload": payload}))
    write_content(fd, file, [(max(start, header), end) for start, end in content.ranges if end > header])
