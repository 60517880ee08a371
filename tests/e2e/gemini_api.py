"""A model that answers from a script: the Gemini API as far as Gemini CLI uses it.

Requests are converted to the messages of `mock_api`, so that the same scripts and comparisons can be used.
"""

from __future__ import annotations

import json
from typing import Any

from mock_api import Handler, MockApi, Reply, choose, say
from talk import Messages

# Beginnings of messages that Gemini CLI itself writes in the role of the user.
_INJECTED = ("<session_context>", "<hook_context>")
SNAPSHOT = "<state_snapshot>SUMMARY of what was said</state_snapshot>"


class GeminiApi(MockApi):
    def handler(self) -> type[Handler]:
        return _GeminiHandler

    def answer(self, body: dict[str, Any]) -> Reply:
        settings = body.get("generationConfig") or {}
        aside = settings.get("responseJsonSchema") or settings.get("responseSchema") or not body.get("tools")
        told = {"messages": messages(body), "tools": None if aside else body["tools"]}
        if aside:
            return _aside(settings, told["messages"])
        self.requests.append(told)
        return choose(self.script, told)


def _aside(settings: dict[str, Any], told: Messages) -> Reply:
    """The answer to a request for the client's own use: which model to take, a summary, a title."""
    if settings.get("responseMimeType") == "application/json":
        return say(json.dumps({"reasoning": "mock", "model_choice": "flash"}))
    return say(SNAPSHOT if "state_snapshot" in json.dumps(told) else "A title")


def messages(body: dict[str, Any]) -> Messages:
    system = "\n".join(str(part.get("text")) for part in
                       (body.get("systemInstruction") or {}).get("parts") or [])
    found: Messages = [{"role": "system", "content": [{"type": "text", "text": system}]}]
    for content in body.get("contents") or []:
        for part in content.get("parts") or []:
            role, block = _said(content.get("role"), part)
            if found[-1]["role"] == role == "assistant":
                found[-1]["content"].append(block)
            else:
                found.append({"role": role, "content": [block]})
    return found


def _said(role: object, part: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    if "functionCall" in part:
        call = part["functionCall"]
        return "assistant", {"type": "tool_use", "name": call["name"], "input": call.get("args")}
    if "functionResponse" in part:
        return "user", {"type": "tool_result", "content": json.dumps(part["functionResponse"]["response"])}
    text = str(part.get("text", ""))
    injected = text.lstrip().startswith(_INJECTED)
    return ("assistant" if role == "model" else "system" if injected else "user"), {
        "type": "text", "text": text}


class _GeminiHandler(Handler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.split("?")[0]
        if path.endswith(":countTokens"):
            self._send(200, {"totalTokens": 100})
        elif path.endswith(":generateContent"):
            self._send(200, _answer(self.server.api.answer(body)))
        elif path.endswith(":streamGenerateContent"):
            self._stream_one(_answer(self.server.api.answer(body)))
        else:
            self._send(404, {"error": {"message": "not here"}})

    def _stream_one(self, answer: dict[str, Any]) -> None:
        data = f"data: {json.dumps(answer)}\n\n".encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _answer(reply: Reply) -> dict[str, Any]:
    parts = [{"functionCall": {"name": b["name"], "args": b["input"]}} if b["type"] == "tool_use"
             else {"text": b["text"]} for b in reply.blocks]
    usage = {"promptTokenCount": 1000, "candidatesTokenCount": 20, "totalTokenCount": 1020}
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    return {"candidates": [candidate],
            "usageMetadata": usage, "modelVersion": "mock"}
