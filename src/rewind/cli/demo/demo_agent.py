"""The agent of `rewind demo`: replays a recorded session, with hooks and a transcript as Claude Code has."""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from typing import Any

from rewind.cli.demo.demo_session import PROJECT, Turn
from rewind.cli.demo.demo_world import World, content


class Agent:
    def __init__(self, world: World) -> None:
        self.world = world
        self.session = str(uuid.uuid4())
        folder = os.path.join(world.agent_home, "projects", re.sub("[^A-Za-z0-9]", "-", world.project))
        os.makedirs(folder)
        self.transcript = os.path.join(folder, f"{self.session}.jsonl")
        self.slowest = 0.0
        self._parent: str | None = None

    def start(self) -> None:
        self._hook("session-start", source="startup")

    def end(self) -> None:
        self._hook("session-end", reason="prompt_input_exit")

    def turn(self, turn: Turn) -> None:
        """One prompt. What the client writes lags behind its hooks, so a checkpoint made in a hook has not
        seen the line that it stands for (Claude Code 2.1)."""
        prompt = str(uuid.uuid4())
        self._hook("user-prompt-submit", prompt=turn.prompt, prompt_id=prompt)
        self._line("user", turn.prompt, promptId=prompt, promptSource="typed", origin={"kind": "human"})
        for number, (tool, given) in enumerate(turn.tools):
            call = f"toolu_{number}_{prompt[:8]}"
            if "file_path" in given:
                given = {**given, "file_path": self.world.path(given["file_path"])}
            event = {"tool_name": tool, "tool_input": given, "tool_use_id": call, "prompt_id": prompt}
            self._line("assistant", [{"type": "tool_use", "id": call, "name": tool, "input": given}])
            self._hook("pre-tool-use", **event)
            self._do(tool, given)
            self._hook("post-tool-use", **event, tool_response={})
            self._line("user", [{"type": "tool_result", "tool_use_id": call, "content": "Done."}],
                       promptId=prompt, toolUseResult={})
        self._hook("stop", prompt_id=prompt, stop_hook_active=False, last_assistant_message=turn.answer)
        self._line("assistant", [{"type": "text", "text": turn.answer}])

    def _do(self, tool: str, given: dict[str, str]) -> None:
        if tool == "Bash":
            self.world.shell(given["command"])
        elif tool == "Write":
            self.world.write(given["file_path"], given["content"])
        else:
            was = content(given["file_path"]).decode()
            self.world.write(given["file_path"], was.replace(given["old_string"], given["new_string"]))

    def _hook(self, action: str, **fields: Any) -> None:
        payload = {"session_id": self.session, "transcript_path": self.transcript, "cwd": self.world.project}
        began = time.monotonic()
        self.world.hook(action, {**payload, **fields}, CLAUDECODE="1", CLAUDE_PROJECT_DIR=self.world.project,
                        CLAUDE_CODE_SESSION_ID=self.session, CLAUDE_PID=str(os.getpid()))
        self.slowest = max(self.slowest, time.monotonic() - began)

    def _line(self, role: str, said: Any, **more: Any) -> None:
        if not os.path.exists(self.transcript):  # made after the hook of the first prompt
            self._append({"type": "custom-title", "customTitle": PROJECT, "sessionId": self.session})
        line = {"parentUuid": self._parent, "isSidechain": False, "type": role, "uuid": str(uuid.uuid4()),
                "message": {"role": role, "content": said}, "userType": "external",
                "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
                "cwd": self.world.project, "sessionId": self.session, "version": "2.1.325", **more}
        self._append(line)
        self._parent = str(line["uuid"])

    def _append(self, line: dict[str, Any]) -> None:
        with open(self.transcript, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
