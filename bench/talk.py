"""Conversations of any length, in the format of Claude Code's transcripts."""

from __future__ import annotations

import json
import os
from pathlib import Path

_TEXT = "All work and no play makes for a dull transcript. " * 40


class Talk:
    """One session of a project, with its transcript where the agent would write it.

    As with the agent, the file does not exist before the first prompt."""

    def __init__(self, home: Path, project: Path, number: int = 0) -> None:
        self._project = os.path.realpath(project)
        folder = "".join(c if c.isascii() and c.isalnum() else "-" for c in self._project)
        self.session = _uuid(number, 1)
        self.path = home / ".claude" / "projects" / folder / f"{self.session}.jsonl"
        self._lines = 0

    def event(self) -> dict[str, object]:
        """The fields of every hook payload."""
        return {"session_id": self.session, "transcript_path": str(self.path), "cwd": self._project}

    def grow_to(self, size: int) -> Talk:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab") as file:
            while file.tell() < size:
                file.write(self._turn(f"Prompt {self._lines}", 20))
        return self

    def add_turn(self, prompt: str = "", answers: int = 20) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab") as file:
            file.write(self._turn(prompt or f"Prompt {self._lines}", answers))

    def others(self) -> set[str]:
        """The names of the other transcripts in its directory."""
        return {name for name in os.listdir(self.path.parent) if name.endswith(".jsonl")} - {self.path.name}

    def remove(self) -> None:
        self.path.unlink()

    def _turn(self, prompt: str, answers: int) -> bytes:
        lines = [self._line("user", prompt, promptSource="typed")]
        lines += [self._line("assistant", [{"type": "text", "text": _TEXT}]) for _ in range(answers)]
        return b"".join(lines)

    def _line(self, kind: str, content: object, **more: object) -> bytes:
        parent = _uuid(self._lines) if self._lines else None
        self._lines += 1
        data = {"parentUuid": parent, "isSidechain": False, "type": kind, "uuid": _uuid(self._lines),
                "timestamp": "2026-11-15T10:00:00.000Z", "cwd": self._project, "sessionId": self.session,
                "version": "2.1.325", "message": {"role": kind, "content": content}, **more}
        return json.dumps(data, separators=(",", ":")).encode() + b"\n"


def _uuid(number: int, family: int = 0) -> str:
    return f"{number:08x}-{family:04x}-4000-8000-000000000000"
