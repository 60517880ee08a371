"""The agent of `rewind demo`: replays a recorded session, with hooks and a transcript as Claude Code has."""

from __future__ import annotations

import os
import time
import uuid

from rewind.cli.demo.demo_session import PROJECT
from rewind.fast import quickjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.cli.demo.demo_world import World

_VERSION = "2.1.325"


class Agent:
    def __init__(self, world: World) -> None:
        self.world = world
        self.session = str(uuid.uuid4())
        folder = "".join(c if c.isascii() and c.isalnum() else "-" for c in world.project)
        self.transcript = os.path.join(world.agent_home, "projects", folder, f"{self.session}.jsonl")
        os.makedirs(os.path.dirname(self.transcript))
        self.slowest = 0.0
        self._parent: str | None = None

    def start(self) -> None:
        self._hook("session-start", source="startup")

    def end(self) -> None:
        self._hook("session-end", reason="prompt_input_exit")

    def turn(self, turn: dict[str, Any]) -> None:
        """One prompt. What the client writes lags behind its hooks, so a checkpoint made in a hook has not
        seen the line that it stands for (Claude Code 2.1)."""
        prompt = str(uuid.uuid4())
        self._hook("user-prompt-submit", prompt=turn["prompt"], prompt_id=prompt)
        self._line("user", {"role": "user", "content": turn["prompt"]}, promptId=prompt, promptSource="typed",
                   origin={"kind": "human"})
        for number, (tool, given) in enumerate(turn["tools"]):
            self._use(tool, given, prompt, f"toolu_{number}_{prompt[:8]}")
        self._hook("stop", prompt_id=prompt, stop_hook_active=False, last_assistant_message=turn["answer"])
        self._say({"type": "text", "text": turn["answer"]})

    def _use(self, tool: str, given: dict[str, str], prompt: str, call: str) -> None:
        given = {key: self.world.path(value) if key == "file_path" else value for key, value in given.items()}
        event = {"tool_name": tool, "tool_input": given, "tool_use_id": call, "prompt_id": prompt}
        self._say({"type": "tool_use", "id": call, "name": tool, "input": given})
        self._hook("pre-tool-use", **event)
        self._do(tool, given)
        self._hook("post-tool-use", **event, tool_response={})
        result = {"type": "tool_result", "tool_use_id": call, "content": "Done."}
        self._line("user", {"role": "user", "content": [result]}, promptId=prompt, toolUseResult={})

    def _do(self, tool: str, given: dict[str, str]) -> None:
        if tool == "Bash":
            self.world.shell(given["command"])
        elif tool == "Write":
            self.world.write(given["file_path"], given["content"])
        else:
            was = self.world.read(given["file_path"])
            self.world.write(given["file_path"], was.replace(given["old_string"], given["new_string"]))

    # what the client says to the hook, and to its file

    def _hook(self, action: str, **fields: Any) -> None:
        payload = {"session_id": self.session, "transcript_path": self.transcript, "cwd": self.world.project}
        began = time.monotonic()
        self.world.hook(action, {**payload, **fields}, CLAUDECODE="1", CLAUDE_PROJECT_DIR=self.world.project,
                        CLAUDE_CODE_SESSION_ID=self.session, CLAUDE_PID=str(os.getpid()))
        self.slowest = max(self.slowest, time.monotonic() - began)

    def _say(self, block: dict[str, Any]) -> None:
        self._line("assistant", {"role": "assistant", "type": "message", "content": [block]})

    def _line(self, kind: str, message: dict[str, Any], **more: Any) -> None:
        if not os.path.exists(self.transcript):  # made after the hook of the first prompt
            self._append({"type": "custom-title", "customTitle": PROJECT, "sessionId": self.session})
        event = str(uuid.uuid4())
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
        self._append({"parentUuid": self._parent, "isSidechain": False, "type": kind, "message": message,
                      "uuid": event, "timestamp": stamp, "userType": "external", "cwd": self.world.project,
                      "sessionId": self.session, "version": _VERSION, **more})
        self._parent = event

    def _append(self, line: dict[str, Any]) -> None:
        fd = os.open(self.transcript, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(quickjson.dumps(line).encode() + b"\n")
