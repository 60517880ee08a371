"""Conversations in the shape of Claude Code's transcripts, as long as they are wanted."""

from __future__ import annotations

import json
import os
from pathlib import Path

from bench.workplace import Workplace, say

_TEXT = "All work and no play makes for a dull transcript. " * 40


class Talk:
    """One transcript of one project, where the agent would have written it."""

    def __init__(self, place: Workplace, project: Path, size: int) -> None:
        folder = "".join(c if c.isascii() and c.isalnum() else "-" for c in os.path.realpath(project))
        self.path = place.root / "home" / ".claude" / "projects" / folder / f"{_uuid(size)}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._project = os.path.realpath(project)
        self._lines = 0
        say(f"making a conversation of {size / 1e6:.1f} MB")
        with open(self.path, "wb") as file:
            while file.tell() < size:
                file.write(self._turn())

    def go_on(self) -> None:
        with open(self.path, "ab") as file:
            file.write(self._turn())

    def others(self) -> set[str]:
        """The transcripts beside it: forks, mostly."""
        return {name for name in os.listdir(self.path.parent) if name.endswith(".jsonl")} - {self.path.name}

    def remove(self) -> None:
        self.path.unlink()

    def _turn(self) -> bytes:
        lines = [self._line("user", f"Prompt {self._lines}", promptSource="typed")]
        lines += [self._line("assistant", [{"type": "text", "text": _TEXT}]) for _ in range(20)]
        return b"".join(lines)

    def _line(self, kind: str, content: object, **more: object) -> bytes:
        parent = _uuid(self._lines) if self._lines else None
        self._lines += 1
        data = {"parentUuid": parent, "isSidechain": False, "type": kind, "uuid": _uuid(self._lines),
                "timestamp": "2026-11-15T10:00:00.000Z", "cwd": self._project, "sessionId": "x",
                "version": "2.1.325", "message": {"role": kind, "content": content}, **more}
        return json.dumps(data, separators=(",", ":")).encode() + b"\n"


def _uuid(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"
