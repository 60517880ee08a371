"""Codex's rollouts for tests: recorded ones, placed as Codex does, made-up ones, and a second reader."""

from __future__ import annotations

import json
import shutil
import uuid
from pathlib import Path
from typing import Any, Optional

RECORDED = Path(__file__).resolve().parents[0] / "data" / "codex"
SAMPLES = sorted(path.stem for path in RECORDED.glob("0*.jsonl"))
REWOUND = "01a1de41-0000-7000-8000-000000000003"  # the id in the name of the file that a rewind made
Line = dict[str, Any]


def sample(number: str) -> bytes:
    return next(RECORDED.glob(f"{number}-*.jsonl")).read_bytes()


def lines_of(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def folder(home: Path) -> Path:
    found = home / ".codex" / "sessions" / "2026" / "11" / "15"
    found.mkdir(parents=True, exist_ok=True)
    return found


def place_samples(home: Path, *numbers: str) -> dict[str, Path]:
    """Copy recorded rollouts to this home, by default all of them."""
    found = {}
    for path in sorted(RECORDED.glob("0*.jsonl")):
        number = path.name[:2]
        if numbers and number not in numbers:
            continue
        meta = json.loads(path.read_bytes().split(b"\n")[0])["payload"]
        stamp = (meta.get("timestamp") or "2026-11-15T08:00:00")[:19].replace(":", "-")
        rest = f"_{REWOUND}" if number == "03" else ""
        found[number] = folder(home) / f"rollout-{stamp}-{meta['id']}{rest}.jsonl"
        shutil.copy(path, found[number])
    return found


class Talk:
    """A thread as Codex 0.166 writes it, line by line. `base` is the reference at the beginning of its
    file."""

    def __init__(self, cwd: Path, id: str = "", rollout: str = "", first: int = 0,
                 base: Optional[Line] = None, **meta: Any) -> None:
        self.id = id or str(uuid.uuid4())
        self.rollout = rollout
        self.ordinal = first
        self.turns = 0
        self.lines: list[bytes] = []
        self.starts: list[int] = []  # ordinals at which turns begin
        payload = {"id": self.id, "session_id": self.id, "timestamp": "2026-11-15T08:00:00.000Z",
                   "cwd": str(cwd), "originator": "codex_exec", "cli_version": "0.166.0", "source": "exec",
                   "thread_source": "user", "base_instructions": {"text": "You are Codex. " * 20},
                   "history_mode": "paginated", **({"history_base": base} if base else {}), **meta}
        self.add("session_meta", payload)

    def add(self, type: str, payload: Any, **more: Any) -> None:
        line = {"timestamp": f"2026-11-15T08:00:{self.ordinal % 60:02d}.000Z", "ordinal": self.ordinal,
                "type": type, "payload": payload, **more}
        self.lines.append(json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")
        self.ordinal += 1

    def event(self, type: str, **payload: Any) -> None:
        self.add("event_msg", {"type": type, **payload})

    def item(self, type: str, turn: str, **item: Any) -> None:
        self.event("item_completed", turn_id=turn, item={"type": type, **item})

    def message(self, role: str, text: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text}]
        self.add("response_item", {"type": "message", "role": role, "content": content})

    def start(self) -> str:
        self.turns += 1
        turn = f"turn-{self.id[:8]}-{self.rollout[:4]}-{self.turns}"
        self.starts.append(self.ordinal)
        self.event("task_started", turn_id=turn)
        self.message("developer", "<skills_instructions>")
        self.message("user", "<environment_context>")
        self.add("turn_context", {"turn_id": turn, "cwd": "/"})
        return turn

    def prompt(self, text: str, turn: str) -> None:
        self.message("user", text)
        self.item("UserMessage", turn, id=str(uuid.uuid4()), content=[{"type": "text", "text": text}])

    def call(self, number: int, command: str) -> None:
        self.add("response_item", {"type": "function_call", "name": "exec_command",
                                   "call_id": f"call_{number}", "arguments": json.dumps({"cmd": command})})
        self.add("response_item", {"type": "function_call_output", "call_id": f"call_{number}",
                                   "output": f"did {command}"})

    def turn(self, text: str, *, command: str = "") -> str:
        turn = self.start()
        self.prompt(text, turn)
        if command:
            self.call(self.ordinal, command)
        self.item("AgentMessage", turn, id="m", content=[{"type": "Text", "text": f"To {text}"}])
        self.message("assistant", f"To {text}")
        self.event("task_complete", turn_id=turn)
        return turn

    def compact(self) -> None:
        self.starts.append(self.ordinal)
        self.event("task_started", turn_id="compaction")
        self.message("assistant", "A summary")
        self.add("compacted", {"message": "A summary", "replacement_history": []})
        self.event("task_complete", turn_id="compaction")

    @property
    def data(self) -> bytes:
        return b"".join(self.lines)

    def write(self, home: Path) -> Path:
        name = f"rollout-2026-11-15T08-00-00-{self.id}{f'_{self.rollout}' if self.rollout else ''}.jsonl"
        path = folder(home) / name
        path.write_bytes(self.data)
        return path

    def reference(self, end: int) -> Line:
        """The reference in a file that continues this thread from before the line with the number `end`."""
        first = json.loads(self.lines[0])["ordinal"]
        return {"thread_id": self.rollout or self.id, "end_ordinal_exclusive": end,
                "end_byte_offset": len(b"".join(self.lines[:end - first]))}


def conversation(path: Path) -> list[Line]:
    """All records of the conversation that ends in a file, without first lines. This reader is simple and
    uses no offsets."""
    own = [json.loads(line) for line in path.read_bytes().splitlines()]
    base = own[0]["payload"].get("history_base")
    if not base:
        return own[1:]
    other, = path.parent.glob(f"rollout-*{base['thread_id']}.jsonl")
    return [line for line in conversation(other) if line["ordinal"] < base["end_ordinal_exclusive"]] + own[1:]


def prompts_in(lines: list[Line]) -> list[str]:
    found = []
    for line in lines:
        payload = line["payload"]
        if line["type"] == "event_msg" and payload.get("type") == "user_message":
            found.append(payload["message"])
        elif line["type"] == "event_msg" and (payload.get("item") or {}).get("type") == "UserMessage":
            found.append("".join(part["text"] for part in payload["item"]["content"]))
    return found
