"""A model that answers from a script: Anthropic's Messages API as far as Claude Code and Droid use it.

Answers depend on what a request says, never on its number, so that retries, requests for a title and resumed
sessions get the same answers as in a new run.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Optional

from talk import Messages, spoken

Block = dict[str, Any]


class Reply(NamedTuple):
    """One answer of the model: its blocks, the number of tokens that it reports, and whether it waits for
    `release`."""

    blocks: Sequence[Block]
    input_tokens: int = 100
    held: bool = False


# The replies to a prompt that contains the key: the first one, then one after each round of tool results.
Script = Mapping[str, Sequence[Reply]]


def say(text: str, input_tokens: int = 100) -> Reply:
    return Reply([{"type": "text", "text": text}], input_tokens)


def call(tool: str, **arguments: Any) -> Block:
    return {"type": "tool_use", "name": tool, "input": arguments}


def last_prompt(messages: Messages) -> tuple[str, int]:
    """The newest text of the user, and how many times the model has answered since."""
    answers = 0
    for message in reversed(messages):
        if message["role"] == "assistant":
            answers += 1
        elif message["role"] == "user":
            texts = [text for text in spoken(message) if not text.startswith("[Request interrupted")]
            if texts:
                return texts[-1], answers
    return "", answers


def choose(script: Script, body: Mapping[str, Any]) -> Reply:
    prompt, answers = last_prompt(body.get("messages", []))
    if not body.get("tools"):
        return _side_reply(body, prompt)
    for key, replies in script.items():
        if key in prompt:
            return replies[min(answers, len(replies) - 1)]
    return say(f"Heard {prompt[:20]}")


def _side_reply(body: Mapping[str, Any], prompt: str) -> Reply:
    """The answer to a request for the client's own use: a title, or a summary of the conversation."""
    if "format" in (body.get("output_config") or {}) or body.get("output_format"):
        return say(json.dumps({"title": "A title"}))
    return say("SUMMARY of what was said" if "summar" in prompt else "A title")


class MockApi:
    """The server, on a free local port, with every request that it has seen."""

    def __init__(self, script: Optional[Script] = None) -> None:
        self.script: Script = script or {}
        self.requests: list[dict[str, Any]] = []
        self._released = threading.Event()
        self._server = Server(self, self.handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def handler(self) -> type[Handler]:
        """A subclass for another API has its own handler."""
        return Handler

    def __enter__(self) -> MockApi:
        self._thread.start()
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.release()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def release(self) -> None:
        """Send the replies that are held."""
        self._released.set()

    def hold(self) -> None:
        """Hold the next ones again."""
        self._released.clear()

    def asked(self, prompt: str) -> Messages:
        """The messages with which the model first got this prompt, in the newest run of it."""
        return next(found for found in reversed(self._turns()) if prompt in last_prompt(found)[0])

    def was_asked(self, prompt: str) -> bool:
        return any(prompt in last_prompt(found)[0] for found in self._turns())

    def _turns(self) -> list[Messages]:
        bodies = [body for body in list(self.requests) if body.get("tools")]
        return [body["messages"] for body in bodies if last_prompt(body["messages"])[1] == 0]

    def answer(self, body: dict[str, Any]) -> Reply:
        self.requests.append(body)
        reply = choose(self.script, body)
        if reply.held:
            self._released.wait(60)
        return reply


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, api: MockApi, handler: type[Handler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.api = api

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing if a client ended during an answer."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._send(200, {})

    def do_GET(self) -> None:
        self._send(404, {"type": "error", "error": {"type": "not_found_error", "message": "not here"}})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            self._send(200, {"input_tokens": len(raw) // 4 + 1})
        elif path.endswith("/v1/messages"):
            self._answer(json.loads(raw))
        else:
            self.do_GET()

    def _answer(self, body: dict[str, Any]) -> None:
        reply = self.server.api.answer(body)
        message = _message(body, reply)
        if body.get("stream"):
            self._stream(message)
        else:
            self._send(200, message)

    def _send(self, status: int, found: dict[str, Any]) -> None:
        data = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, message: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in _events(message):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()


def _message(body: dict[str, Any], reply: Reply) -> dict[str, Any]:
    blocks = [{**block, "id": f"toolu_{uuid.uuid4().hex[:24]}"} if block["type"] == "tool_use" else block
              for block in reply.blocks]
    calls = any(block["type"] == "tool_use" for block in blocks)
    usage = {"input_tokens": reply.input_tokens, "output_tokens": 10,
             "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {"id": f"msg_{uuid.uuid4().hex[:24]}", "type": "message", "role": "assistant",
            "model": body.get("model", "mock"), "content": blocks, "stop_sequence": None,
            "stop_reason": "tool_use" if calls else "end_turn", "usage": usage}


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The message as the stream that the clients read."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        start, delta = _block_events(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "usage": {"output_tokens": 10},
           "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}}
    yield {"type": "message_stop"}


def _block_events(block: Block) -> tuple[Block, Block]:
    if block["type"] == "tool_use":
        arguments = json.dumps(block["input"])
        return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": arguments}
    return {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
