"""The names of Gemini CLI's files, and what their lines say."""

from __future__ import annotations

import os
import re

from rewind.errors import RewindError
from rewind.jsonfile import objects_in
from rewind.transcript.kinds.oplog_view import View
from rewind.transcript.layout import SUFFIX
from rewind.transcript.read.lines import lines_forward, open_transcript, parse, size_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from rewind.agents.profile import Profile
    from rewind.jsonfile import JsonObject

_OURS = re.compile(r"session-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-rw[0-9a-f]{6}\.jsonl")
_LONGEST_HEADER = 64 << 10  # no first line is longer


# files

def session_id_of(path: str) -> str:
    """Read from the first line, because the name has only the beginning of the id. Empty if it is not
    there."""
    ours = _OURS.fullmatch(os.path.basename(path))
    if ours:
        return ours[1]
    try:
        with open_transcript(path) as file:
            for offset, raw in lines_forward(file, 0, min(_LONGEST_HEADER, size_of(file))):
                for event in parse(offset, raw):
                    id = event.data.get("sessionId")
                    return id if isinstance(id, str) else ""
                break
    except RewindError:
        pass
    return ""


def path_beside(original: str, session_id: str) -> str:
    """Gemini CLI 0.61 leaves a stub when it resumes a session. At its next start it deletes every file whose
    name ends in the same eight characters, the first ones of the id. So our names end differently: no id
    begins with `rw`."""
    name = f"session-{session_id}-rw{session_id.replace('-', '')[-6:]}{SUFFIX}"
    return os.path.join(os.path.dirname(original), name)


def whole(file: BinaryIO, path: str) -> BinaryIO:
    return View(file)  # type: ignore[return-value]


# what a line says

def content_of(data: JsonObject, profile: Profile) -> Any:
    typed = data.get("displayContent")  # the content also has what `@file` stands for
    content = typed if typed else data.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else _blocks(content)
    thoughts = [{"type": "thinking", "thinking": _thought(one)} for one in objects_in(data.get("thoughts"))]
    known = {block.get("id") for block in blocks if block["type"] == "tool_use"}
    calls = [{"type": "tool_use", "id": call.get("id"), "name": call.get("name"), "input": call.get("args")}
             for call in objects_in(data.get("toolCalls")) if call.get("id") not in known]
    return [*thoughts, *blocks, *calls]


def _thought(thought: JsonObject) -> str:
    texts = (thought.get(key) for key in ("subject", "description"))
    return "\n".join(text for text in texts if isinstance(text, str))


def _blocks(content: Any) -> list[JsonObject]:
    parts = [content] if isinstance(content, dict) else content if isinstance(content, list) else []
    found = (_block({"text": part} if isinstance(part, str) else part) for part in parts)
    return [block for block in found if block]


def _block(part: Any) -> JsonObject | None:
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


def _result(response: Any) -> JsonObject:
    found = response if isinstance(response, dict) else {}
    said = found.get("output", found.get("error"))
    return {"content": said if isinstance(said, str) else None, "is_error": "error" in found}
