"""A model that answers from a script: OpenAI's Responses API as far as Codex uses it.

Requests are converted to the messages of `mock_api`, so that the same scripts and comparisons can be used.
"""

from __future__ import annotations

import json
from typing import Any

from mock_api import Handler, MockApi, Reply, choose, last_prompt, say
from talk import Messages

# Beginnings of messages that Codex itself writes in the role of the user.
_INJECTED = ("<", "# AGENTS.md instructions")
# In its terminal UI, Codex also asks for a title at the first prompts, with the tools of a turn.
_TITLE = "Generate a concise, single-line task title"


class ResponsesApi(MockApi):
    def handler(self) -> type[Handler]:
        return _ResponsesHandler

    def answer(self, body: dict[str, Any]) -> Reply:
        told = {"messages": messages(body), "tools": body.get("tools")}
        if _TITLE in last_prompt(told["messages"])[0]:
            return say("A title")
        self.requests.append(told)
        reply = choose(self.script, told)
        if reply.held:
            self._released.wait(60)
        return reply


def messages(body: dict[str, Any]) -> Messages:
    found: Messages = []
    for item in body.get("input") or []:
        role, block = _said(item)
        if found and found[-1]["role"] == role == "assistant":
            found[-1]["content"].append(block)
        else:
            found.append({"role": role, "content": [block]})
    return found


def _said(item: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    kind = item.get("type", "message")
    if kind.endswith("_call_output"):
        return "user", {"type": "tool_result", "content": _text(item.get("output"))}
    if kind.endswith("_call"):
        given = item.get("input") if "input" in item else item.get("arguments")
        return "assistant", {"type": "tool_use", "name": item.get("name"), "input": given}
    text = _text(item.get("content"))
    role = str(item.get("role"))
    injected = role == "user" and text.lstrip().startswith(_INJECTED)
    said = "system" if injected or role not in ("user", "assistant") else role
    return said, {"type": "text", "text": text}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or [] if isinstance(part, dict))


class _ResponsesHandler(Handler):
    numbers = 0

    def do_GET(self) -> None:
        # Codex tries a WebSocket first, and asks for the list of models.
        self._send(426 if self.headers.get("upgrade") else 200, {"object": "list", "data": [], "models": []})

    def do_POST(self) -> None:
        body = json.loads(self._body() or b"{}")
        if not self.path.split("?")[0].endswith("/responses"):
            self._send(404, {"error": {"message": "not here"}})
            return
        type(self).numbers += 1
        reply = self.server.api.answer(body)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in _events(reply, f"{self.numbers:04d}"):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()

    def _body(self) -> bytes:
        if "chunked" not in (self.headers.get("transfer-encoding") or ""):
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        data = b""
        while True:
            size = int(self.rfile.readline().strip() or b"0", 16)
            data += self.rfile.read(size)
            self.rfile.readline()
            if not size:
                return data


def _events(reply: Reply, number: str) -> list[dict[str, Any]]:
    items = [_item(block, f"{number}{i}") for i, block in enumerate(reply.blocks)]
    response = {"id": f"resp_{number}", "object": "response", "output": []}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**response, "status": "in_progress"}}]
    for index, item in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": index,
                       "item": {**item, "status": "in_progress"}})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    usage = {"input_tokens": reply.input_tokens, "input_tokens_details": {"cached_tokens": 0},
             "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 0},
             "total_tokens": reply.input_tokens + 10}
    return [*events, {"type": "response.completed", "response": {
        **response, "status": "completed", "output": items, "usage": usage}}]


def _item(block: dict[str, Any], number: str) -> dict[str, Any]:
    """If the input is a text, the tool is a custom tool of Codex, such as apply_patch."""
    if block["type"] != "tool_use":
        return {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": block["text"], "annotations": []}]}
    call = {"call_id": f"call_{number}", "name": block["name"]}
    if isinstance(block["input"], str):
        return {"type": "custom_tool_call", "id": f"ctc_{number}", "input": block["input"], **call}
    return {"type": "function_call", "id": f"fc_{number}", "arguments": json.dumps(block["input"]), **call}
