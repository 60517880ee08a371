"""Synthetic transcripts of Claude Code and Droid, and what a client resumes from a transcript."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, Optional

Line = dict[str, Any]
NO_EVENT = "00000000-0000-0000-0000-000000000000"


def event_id(number: int) -> str:
    """An id that is the same in every run and easy to read in a failure."""
    return f"{number:08x}-1111-4222-8333-444444444444"


def compact(line: Line) -> bytes:
    """A line as both clients write it: without spaces, and with text that is not escaped."""
    return json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


class Talk:
    """Lines in the order of the file. `here` is the parent of the next event."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.lines: list[bytes] = []
        self.here: Optional[str] = None
        self._count = 0
        self._waited = 0

    def add(self, line: Line) -> None:
        self.raw(compact(line))

    def raw(self, line: bytes) -> None:
        self.lines.append(line)

    def back_to(self, event: Optional[str]) -> None:
        """The client's own rewind, which writes nothing. The next line has an older parent."""
        self.here = event

    def wait(self, seconds: int) -> None:
        """Advance the clock, which otherwise advances by one second for each event."""
        self._waited += seconds

    def bytes(self, newline: bytes = b"\n") -> bytes:
        return b"".join(line + newline for line in self.lines)

    def offset(self, index: int) -> int:
        """The position of the line with this index, which may be negative."""
        return sum(len(line) + 1 for line in self.lines[:index])

    def _next(self) -> str:
        self._count += 1
        return event_id(self._count)

    def _time(self) -> str:
        seconds = self._count + self._waited
        return f"2026-03-01T10:{seconds // 60:02d}:{seconds % 60:02d}.000Z"


class ClaudeTalk(Talk):
    def __init__(self, session: str = event_id(0xC1A0DE), version: str = "2.1.325") -> None:
        super().__init__(session)
        self.version = version

    def entry(self, kind: str, **more: Any) -> str:
        """Add a line with a uuid and a parent."""
        uuid = self._next()
        self.add({"parentUuid": self.here, "isSidechain": False, "type": kind, "uuid": uuid,
                  "timestamp": self._time(), "userType": "external", "cwd": "/home/dev/proj",
                  "sessionId": self.session, "version": self.version, **more})
        self.here = uuid
        return uuid

    def user(self, content: Any, **more: Any) -> str:
        return self.entry("user", message={"role": "user", "content": content}, **more)

    def prompt(self, text: Any, **more: Any) -> str:
        return self.user(text, **{"origin": {"kind": "human"}, "promptSource": "typed", **more})

    def answer(self, text: str) -> str:
        return self._assistant({"type": "text", "text": text})

    def tool(self, name: str, result: str) -> str:
        """Add a call and its result. Returns the event of the result."""
        call = f"toolu_{self._count}"
        self._assistant({"type": "tool_use", "id": call, "name": name, "input": {}})
        return self.user([{"type": "tool_result", "tool_use_id": call, "content": result}],
                         toolUseResult={"stdout": result})

    def parallel(self, *results: str) -> str:
        """Add calls that follow each other, where the parent of each result is its own call. All results but
        the last are leaves beside the chain."""
        block = {"type": "tool_use", "name": "Bash", "input": {}}
        calls = [self._assistant({**block, "id": f"toolu_{number}"}) for number in range(len(results))]
        for number, (call, result) in enumerate(zip(calls, results)):
            self.here = call
            self.user([{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": result}],
                      toolUseResult={"stdout": result})
        assert self.here is not None
        return self.here

    def turn(self, text: str) -> str:
        prompt = self.prompt(text)
        self.answer(f"Answer to {text}")
        self.entry("system", subtype="turn_duration", durationMs=5, isMeta=False)
        return prompt

    def compaction(self, parent: Optional[str] = "here", kept: Optional[tuple[str, str]] = None) -> str:
        """Add the boundary and its summary. Returns the boundary's event. With `parent` None, it has no
        logical parent. `kept` names the first and the last event of the messages that are kept after the
        summary."""
        logical: Line = {"logicalParentUuid": self.here if parent == "here" else parent} if parent else {}
        self.here = None
        if kept:
            anchor = event_id(self._count + 2)  # the summary
            logical["compactMetadata"] = {"trigger": "manual", "preservedSegment": {
                "headUuid": kept[0], "anchorUuid": anchor, "tailUuid": kept[1]}}
        boundary = self.entry("system", subtype="compact_boundary", content="Compacted", **logical)
        self.user("This session is being continued from a previous conversation that ran out of context.",
                  isCompactSummary=True, isVisibleInTranscriptOnly=True)
        return boundary

    def sidechain(self, text: str) -> str:
        """Add a line of a subagent. Old clients wrote these into the same file."""
        here = self.here
        uuid = self.user(text, isSidechain=True)
        self.here = here
        return uuid

    def progress(self) -> str:
        """Add a progress line of a tool or hook, as older clients wrote them."""
        return self.entry("progress", data={"type": "hook_progress"}, toolUseID="toolu_0")

    def last_prompt(self, leaf: str, *, explicit: bool) -> None:
        self.add({"type": "last-prompt", "leafUuid": leaf, "sessionId": self.session,
                  **({"explicit": True} if explicit else {"lastPrompt": "as shown in the picker"})})

    def title(self, text: str, kind: str = "custom-title") -> None:
        field = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}[kind]
        self.add({"type": kind, field: text, "sessionId": self.session})

    def _assistant(self, block: Line) -> str:
        return self.entry("assistant", message={"role": "assistant", "content": [block], "type": "message",
                                                "id": f"msg_{self._count}", "model": "a-model"})


class DroidTalk(Talk):
    def __init__(self, title: str = "A talk", session: str = event_id(0xD201D), **header: Any) -> None:
        super().__init__(session)
        self.add({"type": "session_start", "id": session, "title": title, "owner": "unknown", "version": 2,
                  "cwd": "/home/dev/proj", "isSessionTitleManuallySet": False, **header})

    def message(self, role: str, content: Any, *, event: Optional[str] = None, aside: bool = False,
                **more: Any) -> str:
        """Add a message. With `aside`, the next message does not follow it."""
        found = event or self._next()
        parent = {} if self.here is None else {"parentId": self.here}
        self.add({"type": "message", "id": found, "timestamp": self._time(),
                  "message": {"role": role, "content": content, **more}, **parent})
        if not aside:
            self.here = found
        return found

    def prompt(self, text: str) -> str:
        return self.message("user", [{"type": "text", "text": text}], interactionMode="auto")

    def answer(self, text: str) -> str:
        return self.message("assistant", [{"type": "text", "text": text}], modelId="a-model")

    def hook(self, name: str) -> str:
        return self.message("user", [], aside=True, visibility="user_only", hookEventName=name,
                            hookStatus="completed")

    def context(self, text: str) -> str:
        return self.message("user", [{"type": "text", "text": f"<system-reminder>{text}</system-reminder>"}],
                            event=f"context-{event_id(self._count + 1)}", visibility="llm_only")

    def turn(self, text: str) -> str:
        self.hook("UserPromptSubmit")
        prompt = self.prompt(text)
        self.answer(f"Answer to {text}")
        self.hook("Stop")
        self.add({"type": "agent_turn_outcome", "turnId": prompt, "reason": "completed"})
        return prompt

    def compaction(self) -> None:
        self.add({"type": "compaction_state", "id": self._next(), "timestamp": self._time(),
                  "summaryText": "What was said.", "summaryKind": "llm_summary",
                  "anchorMessage": {"id": self.here, "index": 1}, "removedCount": 1})


def session_folder(home: Path, agent: str, project: Path) -> Path:
    """The directory where the agent keeps the sessions of a project."""
    real = os.path.realpath(project)
    if agent == "claude":
        return home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", real)
    return home / ".factory" / "sessions" / ("-" + real.lstrip("/").replace("/", "-"))


def place(home: Path, agent: str, project: Path, data: bytes, session: str) -> Path:
    """Write a transcript where the client would write it, with the same modes."""
    folder = session_folder(home, agent, project)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{session}.jsonl"
    path.write_bytes(data)
    path.chmod(0o600)
    return path


# What a client resumes, as observed in the clients. This does not use Rewind's reader on purpose.

def resumed(agent: str, data: bytes, *, explicit: bool = True) -> list[str]:
    """The ids of the events from which the client continues, oldest first."""
    lines = [json.loads(line) for line in data.splitlines() if line.strip()]
    return _resumed_by_claude(lines, explicit) if agent == "claude" else _resumed_by_droid(lines)


def _resumed_by_claude(lines: list[dict[str, Any]], explicit: bool) -> list[str]:
    at = {line["uuid"]: number for number, line in enumerate(lines) if "uuid" in line}
    main = [number for number, line in enumerate(lines) if "uuid" in line and not line.get("isSidechain")
            and line["type"] in ("user", "assistant", "attachment", "system")]
    leaf = lines[_leaf_of_claude(lines, at, main, explicit)]["uuid"] if main else None
    found: list[str] = []
    while leaf is not None and leaf in at and leaf not in found:
        found.append(leaf)
        line = lines[at[leaf]]
        leaf = line["parentUuid"]
        if line.get("subtype") == "compact_boundary":
            kept = line.get("compactMetadata", {}).get("preservedSegment", {}).get("tailUuid")
            before = [id for id in (kept, line.get("logicalParentUuid"))
                      if at.get(id, len(lines)) < at[line["uuid"]]]
            earlier = [lines[n]["uuid"] for n in main if n < at[line["uuid"]]]
            leaf = before[0] if before else earlier[-1] if earlier else None
        elif leaf is not None and leaf not in at:
            earlier = [lines[n] for n in main if n < at[line["uuid"]]]
            seconds = _seconds(line) - _seconds(earlier[-1]) if earlier else -1
            leaf = earlier[-1]["uuid"] if 0 <= seconds <= 5 else None
    return found[::-1]


def _seconds(line: dict[str, Any]) -> float:
    hours, minutes, seconds = line["timestamp"][11:-1].split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def _leaf_of_claude(lines: list[dict[str, Any]], at: dict[str, int], main: list[int], explicit: bool) -> int:
    """The line from which Claude Code 2.1.325 continues. tests/e2e/test_resumed.py compares this with the
    client."""
    named = [n for n, line in enumerate(lines) if line["type"] == "last-prompt"] if explicit else []
    leaf = at.get(lines[named[-1]]["leafUuid"], -1) if named else -1
    if leaf not in main or any(line.get("subtype") == "compact_boundary" for line in lines[leaf:]):
        return main[-1]
    below = {lines[leaf]["uuid"]}
    for line in lines[leaf:]:
        below |= {line["uuid"]} if line.get("parentUuid") in below else set()
    after = max(leaf, named[-1]) if lines[named[-1]].get("explicit") else leaf
    return max([n for n in main if n > after and lines[n]["uuid"] in below], default=leaf)


def _resumed_by_droid(lines: list[dict[str, Any]]) -> list[str]:
    """All messages in file order, because Droid 0.225.2 ignores `parentId`."""
    return [line["id"] for line in lines if line["type"] == "message"]
