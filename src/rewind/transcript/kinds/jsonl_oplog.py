"""Gemini CLI's sessions: logs of operations, which are folded into messages.

The file is only ever read, because a running client continues from memory and appends. A fork is a new file
with one header and the messages before the cut, under a name of our own (see `path_beside` in
`oplog_reading`). The fork of a long log has a copy of the records before the cut, which mean the same.
"""

from __future__ import annotations

import os
import re

from rewind.errors import CannotFork, NothingBeforeCut
from rewind.files import write_all
from rewind.jsonfile import objects_in
from rewind.transcript.kinds.jsonl_tree import start_of_prompt, turn_runs
from rewind.transcript.kinds.oplog_end import end_at
from rewind.transcript.kinds.oplog_fold import fold, operations, unknown_record_name
from rewind.transcript.kinds.oplog_view import View
from rewind.transcript.place.cursor import header_length, header_of
from rewind.transcript.place.cut import Cut
from rewind.transcript.read.lines import (
    end_of_lines,
    events_forward,
    line_of,
    read_at,
    size_of,
    stored,
)
from rewind.transcript.read.prompts import NO, kind_of_prompt, prompt_text
from rewind.transcript.write.content import Content, new_session_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from rewind.agents.profile import Profile
    from rewind.jsonfile import JsonObject
    from rewind.transcript.kinds.oplog_fold import Folded
    from rewind.transcript.place.cut import Trigger
    from rewind.transcript.write.content import SessionNames

__all__ = ["check_resumable", "new_session_id", "resolve_cut", "start_of_prompt", "turn_runs",
           "write_session"]

_KEPT_KEYS = ("projectHash", "directories")
_NODES_LINE_ENDS = re.compile(rb"\xe2\x80[\xa8\xa9]")  # U+2028 and U+2029, at which Node ends a line
# How much of a long log is searched for unknown records: of its beginning, and after a cut.
_BEGINNING = 256 << 10
_AFTER_CUT = 8 << 20
_STEP = 256 << 10

# where a prompt begins, and where a checkpoint cuts

def resolve_cut(file: BinaryIO, profile: Profile, offset: int, trigger: Trigger) -> Cut:
    """When a prompt's hook runs, the prompt's line is missing, and when a tool's hook runs, the call is. All
    else is written before the hook runs."""
    end = end_of_lines(stored(file), min(offset, size_of(file)))
    event = trigger.get("event")
    if event == "UserPromptSubmit":
        return _before_prompt(file, profile, end, trigger) or Cut(end)
    if event == "PostToolUse":
        return _after_tool(file, end, trigger) or Cut(end, None, False)
    return Cut(end)


def _before_prompt(file: BinaryIO, profile: Profile, end: int, trigger: Trigger) -> Cut | None:
    text = str(trigger.get("promptText") or "").strip()
    for event in events_forward(file, end):
        if kind_of_prompt(event.data, profile) != NO:
            return Cut(event.offset) if prompt_text(event.data, profile).startswith(text) else None
    return None


def _after_tool(file: BinaryIO, end: int, trigger: Trigger) -> Cut | None:
    """Calls and results are written when all calls of an answer are done. So this finds only the
    tool of an answer with one call."""
    called = False
    for operation in operations(stored(file)):
        if operation.end <= end or operation.what != "message":
            continue
        calls = objects_in(operation.data.get("toolCalls"))
        if called:
            return Cut(operation.end) if operation.data.get("type") == "user" else None
        if len(calls) != 1 or calls[0].get("name") != trigger.get("tool"):
            return None
        called = True
    return None


# forks

def check_resumable(file: BinaryIO, profile: Profile, cut: Cut) -> None:
    if _is_surely_resumable(file, cut.offset):
        return
    found = _fold_checked(file, cut)
    if not any(_is_answer(message) or kind_of_prompt(message, profile) != NO
               for message in found.messages.values()):
        raise NothingBeforeCut(agent=profile.title, start=profile.commands["start"])


def _is_answer(message: JsonObject) -> bool:
    """Whether it is an answer. One that has only begun is not: its calls are written when they are
    done."""
    return message.get("type") == "gemini" and bool(message.get("content") or message.get("toolCalls"))


def _fold_checked(file: BinaryIO, cut: Cut) -> Folded:
    found = _fold(file, cut.offset)
    if found.unknown:
        raise CannotFork(
            reason=f"it has records that this version of Rewind does not know ({found.unknown})")
    if not isinstance(found.meta.get("projectHash"), str):
        raise CannotFork(reason="its first line is missing")
    if found.meta.get("kind") not in (None, "main"):
        raise CannotFork(reason="it is a subagent's")
    return found


def _fold(file: BinaryIO, end: int) -> Folded:
    return file.fold(end) if isinstance(file, View) else fold(file, end)


def _is_surely_resumable(file: BinaryIO, cut: int) -> bool:
    """Whether a long log can be resumed, judged by its header and by what is near the cut. If False, it must
    be folded to find out."""
    log = stored(file)
    end = end_at(log, cut)
    if end is None or end.unknown or read_at(log, cut - 1, 1) != b"\n" or not _ends_well(end.messages):
        return False
    head = header_of(log)
    around = [*operations(log, _BEGINNING), *operations(log, min(size_of(log), cut + _AFTER_CUT), cut)]
    return (isinstance(head.get("projectHash"), str) and head.get("kind") in (None, "main")
            and not any(map(unknown_record_name, around)))


def _ends_well(found: dict[str, JsonObject]) -> bool:
    """Whether something was said, and the last message is not an answer that has only begun."""
    messages = list(found.values())
    has_begun = messages[-1].get("type") == "gemini" and not _is_answer(messages[-1])
    return not has_begun and any(map(_is_answer, messages))


def write_session(fd: int, file: BinaryIO, profile: Profile, content: Content, names: SessionNames) -> None:
    end = content.ranges[-1][1]
    if not (_is_surely_resumable(file, end) and _write_copy(fd, stored(file), end, names)):
        _write_folded(fd, _fold(file, end), names)


def _write_copy(fd: int, log: BinaryIO, end: int, names: SessionNames) -> bool:
    """The records, with the new names at both ends: what a log says last about itself counts. Returns False
    and writes nothing if Node would end a line within one of them."""
    head = _head(names, header_of(log))
    write_all(fd, _escaped(line_of(head)))
    last = b""
    for at in range(header_length(log), end, _STEP):
        piece = read_at(log, at, min(_STEP, end - at))
        if (b"\xe2" in piece or b"\xe2" in last) and _NODES_LINE_ENDS.search(last + piece):
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)
            return False
        write_all(fd, piece)
        last = piece[-2:]
    write_all(fd, _escaped(line_of({"$set": head})))
    return True


def _write_folded(fd: int, found: Folded, names: SessionNames) -> None:
    messages = list(found.messages_to_write())
    while messages and messages[-1][0].get("type") == "gemini" and not _is_answer(messages[-1][0]):
        messages.pop()
    write_all(fd, _escaped(line_of(_head(names, found.meta))))
    for data, raw in messages:
        write_all(fd, _escaped(raw.strip()) + b"\n" if raw.strip() else _escaped(line_of(data)))


def _head(names: SessionNames, meta: JsonObject) -> JsonObject:
    from datetime import datetime, timezone

    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"sessionId": names.session, "startTime": now, "lastUpdated": now, "kind": "main",
            "summary": names.title, **{key: meta[key] for key in _KEPT_KEYS if key in meta}}


def _escaped(line: bytes) -> bytes:
    return line.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
