"""Gemini CLI's sessions: a log of operations, folded into the messages that it amounts to.

The file is only ever read: a client that runs goes on from memory and appends. A fork is a new file with one
header and the messages before the cut, under a name of our own (see `path_beside`).
"""

from __future__ import annotations

import os
import re

from rewind.errors import RewindError
from rewind.transcript import fork
from rewind.transcript.cut import Cut
from rewind.transcript.fork import Content, NothingBeforeCut
from rewind.transcript.kinds.oplog_fold import View, fold, operations
from rewind.transcript.lines import (
    end_of_lines,
    events_forward,
    lines_forward,
    open_transcript,
    parse,
    size_of,
    stored,
)
from rewind.transcript.names import SUFFIX
from rewind.transcript.prompts import NO, kind_of_prompt, prompt_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from rewind.agents.profile import Profile
    from rewind.transcript.fork import Names
    from rewind.transcript.kinds.oplog_fold import Folded

_OURS = re.compile(r"session-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-rw[0-9a-f]{6}\.jsonl")
_HEADER = 64 << 10  # a first line is not longer
_KEPT = ("projectHash", "directories")


class CannotFork(RewindError):
    """This conversation cannot be forked: {reason}."""

    hint = "The code can be restored: run `rewind list`, then `rewind restore NAME --code-only`."


# files

def session_id_of(path: str) -> str:
    """The first line tells; the name has only its beginning. Empty where nothing tells."""
    ours = _OURS.fullmatch(os.path.basename(path))
    if ours:
        return ours[1]
    try:
        with open_transcript(path) as file:
            for offset, raw in lines_forward(file, 0, min(_HEADER, size_of(file))):
                for event in parse(offset, raw):
                    id = event.data.get("sessionId")
                    return id if isinstance(id, str) else ""
                break
    except RewindError:
        pass
    return ""


def new_session_id() -> str:
    return fork.new_session_id()


def path_beside(original: str, session_id: str) -> str:
    """Gemini CLI 0.61 leaves a stub when it resumes a session, and at its next start deletes every file whose
    name ends in the same eight characters: the first ones of the id. No id begins with `rw`."""
    name = f"session-{session_id}-rw{session_id.replace('-', '')[-6:]}{SUFFIX}"
    return os.path.join(os.path.dirname(original), name)


def whole(file: BinaryIO, path: str) -> BinaryIO:
    return View(file)  # type: ignore[return-value]


# what a line says

def content_of(data: dict[str, Any], profile: Profile) -> Any:
    typed = data.get("displayContent")  # with `@file` the content has the file, too
    content = typed if typed else data.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else _blocks(content)
    thoughts = [{"type": "thinking", "thinking": _thought(one)} for one in _dicts(data.get("thoughts"))]
    known = {block.get("id") for block in blocks if block["type"] == "tool_use"}
    calls = [{"type": "tool_use", "id": call.get("id"), "name": call.get("name"), "input": call.get("args")}
             for call in _dicts(data.get("toolCalls")) if call.get("id") not in known]
    return [*thoughts, *blocks, *calls]


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _thought(thought: dict[str, Any]) -> str:
    texts = (thought.get(key) for key in ("subject", "description"))
    return "\n".join(text for text in texts if isinstance(text, str))


def _blocks(content: Any) -> list[dict[str, Any]]:
    parts = [content] if isinstance(content, dict) else content if isinstance(content, list) else []
    found = (_block({"text": part} if isinstance(part, str) else part) for part in parts)
    return [block for block in found if block]


def _block(part: Any) -> dict[str, Any] | None:
    if not isinstance(part, dict):
        return None
    call, result, image = (part.get(key) for key in ("functionCall", "functionResponse", "inlineData"))
    if isinstance(call, dict):
        return {"type": "tool_use", "id": call.get("id"), "name": call.get("name"), "input": call.get("args")}
    if isinstance(result, dict):
        return {"type": "tool_result", "tool_use_id": result.get("id"), **_result(result.get("response"))}
    if isinstance(image, dict):
        return {"type": "image", "data": image.get("data"), "mediaType": image.get("mimeType")}
    return {"type": "text", "text": part["text"]} if isinstance(part.get("text"), str) else None


def _result(response: Any) -> dict[str, Any]:
    found = response if isinstance(response, dict) else {}
    said = found.get("output", found.get("error"))
    return {"content": said if isinstance(said, str) else None, "is_error": "error" in found}


# where a prompt begins, and where a checkpoint cuts

def start_of_prompt(file: BinaryIO, profile: Profile, offset: int) -> int:
    return offset


def resolve_cut(file: BinaryIO, profile: Profile, offset: int, trigger: dict[str, Any]) -> Cut:
    """At a prompt's hook its line is not there yet, at a tool's the call is not. All else is written before
    the hook runs."""
    end = end_of_lines(stored(file), min(offset, size_of(file)))
    event = trigger.get("event")
    if event == "UserPromptSubmit":
        return _before_prompt(file, profile, end, trigger) or Cut(end)
    if event == "PostToolUse":
        return _after_tool(file, end, trigger) or Cut(end, None, False)
    return Cut(end)


def _before_prompt(file: BinaryIO, profile: Profile, end: int, trigger: dict[str, Any]) -> Cut | None:
    text = str(trigger.get("promptText") or "").strip()
    for event in events_forward(file, end):
        if kind_of_prompt(event.data, profile) != NO:
            return Cut(event.offset) if prompt_text(event.data, profile).startswith(text) else None
    return None


def _after_tool(file: BinaryIO, end: int, trigger: dict[str, Any]) -> Cut | None:
    """Calls and results are written once all calls of an answer are done: after the only one that it has."""
    called = False
    for operation in operations(stored(file)):
        if operation.end <= end or operation.what != "message":
            continue
        calls = _dicts(operation.data.get("toolCalls"))
        if called:
            return Cut(operation.end) if operation.data.get("type") == "user" else None
        if len(calls) != 1 or calls[0].get("name") != trigger.get("tool"):
            return None
        called = True
    return None


def turn_runs(file: BinaryIO) -> bool | None:
    return None


# forks

def check_resumable(file: BinaryIO, profile: Profile, cut: Cut) -> None:
    found = _checked(file, cut)
    if not any(_is_said(message) or kind_of_prompt(message, profile) != NO
               for message in found.messages.values()):
        raise NothingBeforeCut(agent=profile.title, start=profile.commands["start"])


def _is_said(message: dict[str, Any]) -> bool:
    """An answer that has begun is none yet: its calls are written when they are done."""
    return message.get("type") == "gemini" and bool(message.get("content") or message.get("toolCalls"))


def _checked(file: BinaryIO, cut: Cut) -> Folded:
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


def plan_content(file: BinaryIO, profile: Profile, cut: Cut) -> Content:
    cut = cut.placed(file)
    check_resumable(file, profile, cut)
    return Content([(0, cut.offset)], None)


def write_session(fd: int, file: BinaryIO, profile: Profile, content: Content, names: Names) -> None:
    from datetime import datetime, timezone

    from rewind.files import write_all

    found = _fold(file, content.ranges[-1][1])
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    head = {"sessionId": names.session, "startTime": now, "lastUpdated": now, "kind": "main",
            "summary": names.title, **{key: found.meta[key] for key in _KEPT if key in found.meta}}
    messages = list(found.written())
    while messages and messages[-1][0].get("type") == "gemini" and not _is_said(messages[-1][0]):
        messages.pop()
    for data, raw in ((head, b""), *messages):
        # Node takes these for ends of lines.
        line = (raw.strip() or _json(data)).replace(b"\xe2\x80\xa8", b"\\u2028")
        write_all(fd, line.replace(b"\xe2\x80\xa9", b"\\u2029") + b"\n")


def _json(data: dict[str, Any]) -> bytes:
    from json import dumps

    try:
        return dumps(data, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return dumps(data, separators=(",", ":")).encode()
