"""Gemini CLI's sessions for tests: recorded ones, made-up ones, and a second reader."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path
from typing import Any, Optional

RECORDED = Path(__file__).resolve().parents[0] / "data" / "gemini"
Line = dict[str, Any]


def sample(number: str) -> bytes:
    return next(RECORDED.glob(f"{number}-*.jsonl")).read_bytes()


def lines_of(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def start(data: bytes, line: int) -> int:
    """The position of a line. The first line is 0."""
    return sum(map(len, lines_of(data)[:line]))


def chats(home: Path, project: Path, slug: str = "proj") -> Path:
    folder = home / ".gemini" / "tmp" / slug / "chats"
    folder.mkdir(parents=True, exist_ok=True)
    (folder.parent / ".project_root").write_text(str(project))
    return folder


def place_sample(home: Path, project: Path, number: str) -> Path:
    data = sample(number)
    head = json.loads(lines_of(data)[0])
    name = f"session-{head['startTime'][:16].replace(':', '-')}-{head['sessionId'][:8]}.jsonl"
    path = chats(home, project) / name
    path.write_bytes(data)
    return path


def line(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class Talk:
    """A session as Gemini CLI 0.61 writes it, record by record. The clock advances by a second for each
    record. With `live`, it is the real clock."""

    def __init__(self, project: Path, id: str = "", live: bool = False) -> None:
        self.live = live
        self.id = id or str(uuid.uuid4())
        self.project = project
        self.seconds = 0
        self.lines: list[bytes] = []
        self.messages: list[Line] = []
        self.header()

    def now(self) -> str:
        self.seconds += 1
        at = time.time() if self.live else 1794729600 + self.seconds
        return time.strftime("%Y-%m-%dT%H:%M:%S.500Z", time.gmtime(at))

    def add(self, data: Any) -> None:
        self.lines.append(line(data))

    def header(self) -> None:
        now = self.now()
        self.add({"sessionId": self.id, "projectHash": "f" * 64, "startTime": now, "lastUpdated": now,
                  "kind": "main"})
        self.set([self.message("user", "<session_context>\nHere.", id="context")])

    def message(self, type: str, content: Any, id: str = "", **more: Any) -> Line:
        parts = [{"text": content}] if isinstance(content, str) and type == "user" else content
        head = {"id": id or str(uuid.uuid4()), "timestamp": self.now(), "type": type}
        return {**head, "content": parts, **more}

    def set(self, messages: list[Line]) -> None:
        self.messages = list(messages)
        self.add({"$set": {"messages": messages, "lastUpdated": self.now()}})

    def say(self, type: str, content: Any, id: str = "", **more: Any) -> str:
        said = self.message(type, content, id, **more)
        self.messages = [m for m in self.messages if m["id"] != said["id"]] + [said]
        self.add(said)
        self.add({"$set": {"lastUpdated": self.now()}})
        return str(said["id"])

    def prompt(self, text: str) -> str:
        return self.say("user", text)

    def tool(self, name: str, output: str, **args: Any) -> None:
        """A call as it is recorded: an empty answer, the same answer with the call, and the result alone."""
        call = f"{name}_{len(self.lines)}"
        id = self.say("gemini", "", thoughts=[], model="m")
        result = [{"functionResponse": {"id": call, "name": name, "response": {"output": output}}}]
        self.say("gemini", "", id, thoughts=[], model="m", toolCalls=[
            {"id": call, "name": name, "args": args, "result": result, "status": "success"}])
        self.say("user", result)

    def answer(self, text: str) -> None:
        self.say("gemini", text, thoughts=[{"subject": "S", "description": "D"}], model="m")

    def resume(self) -> None:
        """Resume in the same minute: the header and all messages are written again."""
        kept = self.messages
        self.header()
        self.add({"$set": {"sessionId": self.id}})
        self.set([{**m, "timestamp": self.now()} for m in kept])

    def rewind(self, id: str) -> None:
        self.add({"$rewindTo": id})
        ids = [m["id"] for m in self.messages]
        self.set(self.messages[:ids.index(id)])

    def compact(self, keep: int = 0) -> None:
        """What is kept gets new ids."""
        kept = [{**m, "id": str(uuid.uuid4())} for m in self.messages[-keep:]] if keep else []
        self.set([self.messages[0], self.message("user", "<state_snapshot>It was said.</state_snapshot>"),
                  self.message("gemini", [{"text": "Got it."}]), *kept])

    @property
    def data(self) -> bytes:
        return b"".join(self.lines)

    def write(self, home: Path, slug: str = "proj") -> Path:
        path = chats(home, self.project, slug) / f"session-2026-11-15T08-00-{self.id[:8]}.jsonl"
        path.write_bytes(self.data)
        return path


def second_reader(data: bytes) -> list[Line]:
    """The messages that remain at the end of a log, found in the most obvious way."""
    found: list[Line] = []
    for raw in data.split(b"\n"):
        try:
            record = json.loads(raw.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if not isinstance(record, dict):
            continue
        if isinstance(record.get("$rewindTo"), str):
            ids = [m["id"] for m in found]
            found = found[:ids.index(record["$rewindTo"])] if record["$rewindTo"] in ids else []
        elif isinstance(record.get("id"), str):
            _put(found, record)
        elif isinstance(record.get("$set"), dict):
            new = record["$set"].get("messages")
            if isinstance(new, list):
                found = []
                for message in new:
                    if isinstance(message, dict) and isinstance(message.get("id"), str):
                        _put(found, message)
    return found


def _put(found: list[Line], message: Line) -> None:
    at: Optional[int] = next((i for i, m in enumerate(found) if m["id"] == message["id"]), None)
    if at is None:
        found.append(message)
    else:
        found[at] = message


def prompts_in(messages: list[Line]) -> list[str]:
    texts = [m["content"][0].get("text", "") for m in messages if m["type"] == "user"
             and isinstance(m["content"], list) and m["content"]]
    return [text for text in texts if text and not text.startswith(("<", "/", "?"))]
