"""What the lines of Codex's rollouts say; the files are in `rollout_files`."""

from __future__ import annotations

from rewind.agents.profile import pick
from rewind.jsonfile import objects_in
from rewind.transcript.kinds.rollout_files import path_beside, session_id_of, whole
from rewind.transcript.read.lines import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.agents.profile import Profile
    from rewind.jsonfile import JsonObject

__all__ = ["content_of", "path_beside", "record_kind", "session_id_of", "whole"]


def record_kind(data: JsonObject) -> str:
    """The kind of a record. For events and messages it says which kind of event or message."""
    kind, payload = data.get("type"), data.get("payload")
    if not isinstance(kind, str) or not isinstance(payload, dict):
        return ""
    inner = payload.get("type")
    if kind == "response_item" and inner == "message":
        return f"message {payload.get('role')}"
    if kind == "event_msg" and inner == "item_completed":
        return f"item {pick(payload, 'item.type')}"
    return str(inner) if kind in ("event_msg", "response_item") else kind


def content_of(data: JsonObject, profile: Profile) -> Any:
    payload = data.get("payload")
    if not isinstance(payload, dict):
        return None
    what = record_kind(data)
    if what == "item UserMessage":
        return _blocks(pick(payload, "item.content"))
    if what == "user_message":
        return [{"type": "text", "text": payload.get("message")}, *_images(payload)]
    if what.startswith("message "):
        return _blocks(payload.get("content"))
    if what == "reasoning":
        texts = (block.get("text") for block in objects_in(payload.get("summary")))
        return [{"type": "thinking", "thinking": "\n".join(t for t in texts if isinstance(t, str))}]
    if what in ("function_call", "custom_tool_call", "local_shell_call"):
        return [{"type": "tool_use", "id": payload.get("call_id"), "name": payload.get("name") or what,
                 "input": _input(payload)}]
    if what in ("function_call_output", "custom_tool_call_output"):
        return [{"type": "tool_result", "tool_use_id": payload.get("call_id"),
                 "content": _output(payload.get("output"))}]
    return None


def _blocks(content: Any) -> list[Any]:
    """Codex names a text `input_text` or `output_text`, depending on who said it."""
    return [{"type": "text", "text": block.get("text")} if str(block.get("type")).endswith("text") else
            {**block, "type": "image"} if "image" in str(block.get("type")) else block
            for block in objects_in(content)]


def _images(payload: JsonObject) -> list[Any]:
    lists = [payload.get(key) for key in ("images", "local_images")]
    return [{"type": "image"} for images in lists if isinstance(images, list) for _ in images]


def _input(payload: JsonObject) -> Any:
    given = payload.get("arguments")
    if isinstance(given, str):
        found = next((event.data for event in parse(0, given.encode("utf-8", "replace"))), None)
        return found if found is not None else given
    if isinstance(payload.get("input"), str):
        return {"command": payload["input"]}
    return payload.get("action")


def _output(output: Any) -> Any:
    if isinstance(output, list):
        return _blocks(output)
    return output if isinstance(output, str) else None
