"""A model that answers from a script: OpenAI's chat completions as far as opencode uses them.

Requests are converted to the messages of `mock_api`, so that the same scripts and comparisons can be used.
"""

from __future__ import annotations

import json
from typing import Any

from mock_api import Handler, MockApi, Reply, choose
from talk import Messages


class ChatApi(MockApi):
    def handler(self) -> type[Handler]:
        return _ChatHandler

    def answer(self, body: dict[str, Any]) -> Reply:
        told = {"messages": messages(body), "tools": body.get("tools")}
        self.requests.append(told)
        return choose(self.script, told)


def messages(body: dict[str, Any]) -> Messages:
    found: Messages = []
    for message in body.get("messages") or []:
        role, text = str(message.get("role")), _text(message.get("content"))
        blocks: list[dict[str, Any]] = []
        if role == "tool":
            role, blocks = "user", [{"type": "tool_result", "content": text}]
        elif text:
            blocks = [{"type": "text", "text": text}]
        blocks += [{"type": "tool_use", "name": call["function"]["name"],
                    "input": json.loads(call["function"]["arguments"])}
                   for call in message.get("tool_calls") or []]
        found.append({"role": role, "content": blocks})
    return found


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content or [] if part.get("type") == "text")


class _ChatHandler(Handler):
    numbers = 0

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        type(self).numbers += 1
        reply = self.server.api.answer(body)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for chunk in (*_chunks(reply, body, self.numbers), "[DONE]"):
            data = chunk if isinstance(chunk, str) else json.dumps(chunk)
            self.wfile.write(f"data: {data}\n\n".encode())


def _chunks(reply: Reply, body: dict[str, Any], number: int) -> list[dict[str, Any]]:
    calls = [{"index": index, "id": f"call_{number}_{index}", "type": "function",
              "function": {"name": block["name"], "arguments": json.dumps(block["input"])}}
             for index, block in enumerate(b for b in reply.blocks if b["type"] == "tool_use")]
    words = "".join(block["text"] for block in reply.blocks if block["type"] == "text")
    message = {"role": "assistant", "content": words or None, **({"tool_calls": calls} if calls else {})}
    end = "tool_calls" if calls else "stop"
    base = {"id": f"chat_{number}", "object": "chat.completion.chunk", "created": 0,
            "model": body.get("model")}
    usage = {"prompt_tokens": reply.input_tokens, "completion_tokens": 10,
             "total_tokens": reply.input_tokens + 10}
    return [{**base, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": usage}]
