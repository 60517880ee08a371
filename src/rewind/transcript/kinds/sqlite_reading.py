"""The copies of opencode's sessions: their names, what their lines say, and which lines count."""

from __future__ import annotations

from rewind.agents.profile import pick
from rewind.jsonfile import objects_in
from rewind.transcript.layout import path_beside, session_id_of
from rewind.transcript.place.cursor import header_objects
from rewind.transcript.read.joined import Joined
from rewind.transcript.read.lines import line_of, lines_forward, parse, size_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from rewind.agents.profile import Profile
    from rewind.jsonfile import JsonObject
    from rewind.transcript.read.joined import Piece
    from rewind.transcript.read.lines import Event

__all__ = ["content_of", "path_beside", "session_id_of", "session_in", "whole"]

_FORMAT = 1


# what a line says

def _parts(data: JsonObject) -> list[JsonObject]:
    return objects_in(data.get("parts"))


def content_of(data: JsonObject, profile: Profile) -> Any:
    """Blocks in the form of Claude Code's. What the client itself adds to a prompt is not part of it."""
    parts = _parts(data)
    if pick(data, "info.role") == "user":
        parts = [part for part in parts if not part.get("synthetic") and not part.get("ignored")]
    return [block for part in parts for block in _blocks(part)]


def _blocks(part: JsonObject) -> list[JsonObject]:
    kind = part.get("type")
    if kind == "text":
        return [{"type": "text", "text": part.get("text")}]
    if kind == "subtask":
        return [{"type": "text", "text": part.get("prompt")}]
    if kind == "reasoning":
        return [{"type": "thinking", "thinking": part.get("text")}]
    if kind == "tool":
        return _tool(part)
    if kind == "file" and str(part.get("mime")).startswith("image/"):
        return [_image(part)]
    return []


def _image(part: JsonObject) -> JsonObject:
    mime, url = str(part.get("mime")), str(part.get("url"))
    head = f"data:{mime};base64,"
    data = url[len(head):] if url.startswith(head) else None
    return {"type": "image", "source": {"media_type": mime, "data": data}}


def _tool(part: JsonObject) -> list[JsonObject]:
    """The call and the result, which are one row."""
    state = part.get("state")
    state = state if isinstance(state, dict) else {}
    id = part.get("callID")
    found: list[JsonObject] = [
        {"type": "tool_use", "id": id, "name": part.get("tool"), "input": state.get("input")}]
    if state.get("status") in ("completed", "error"):
        failed = state["status"] == "error"
        found.append({"type": "tool_result", "tool_use_id": id, "is_error": failed,
                      "content": state.get("error" if failed else "output")})
    return found


# the conversation in a file

def session_in(file: BinaryIO) -> JsonObject:
    """What line 1 says about the session; nothing if it has another format."""
    found = header_objects(file)
    data = found[0] if len(found) == 1 else {}
    info = data.get("info")
    known = data.get("type") == "session" and data.get("format") == _FORMAT
    return info if known and isinstance(info, dict) else {}


def whole(file: BinaryIO, path: str) -> BinaryIO:
    """Without what an /undo of opencode's own took back: those rows stay until the next prompt."""
    revert = session_in(file).get("revert")
    if not isinstance(revert, dict):
        return file
    pieces, lacks = _before_revert(file, revert)
    return Joined(pieces, [file], lacks)  # type: ignore[return-value]


def _before_revert(file: BinaryIO, revert: JsonObject) -> tuple[list[Piece], str]:
    for offset, raw in lines_forward(file):
        for event in parse(offset, raw):
            if pick(event.data, "info.id") != revert.get("messageID"):
                continue
            kept: list[Piece] = [(file, 0, offset)]
            return kept + _first_parts(event, revert.get("partID")), ""
    return [(file, 0, size_of(file))], "its /undo names a message that is not there"


def _first_parts(event: Event, part_id: object) -> list[Piece]:
    """Those parts of a partly undone message that come before `part_id`."""
    parts = _parts(event.data)
    at = next((i for i, part in enumerate(parts) if part_id and part.get("id") == part_id), 0)
    return [line_of({**event.data, "parts": parts[:at]})] if at else []
