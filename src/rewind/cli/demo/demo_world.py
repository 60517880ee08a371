"""Where `rewind demo` plays: a home and a project in a temporary directory, and an agent that works in it.

Nothing of the person's is touched. The agent replays a recorded session, with hooks and a transcript as
Claude Code has them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from typing import TYPE_CHECKING, Any

from rewind.cli.demo.demo_session import BEFORE, PROJECT, Turn

if TYPE_CHECKING:
    from rewind.jsonfile import JsonObject

_LIBRARY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_PROGRAM = "import sys; sys.path.insert(0, sys.argv.pop(1)); from rewind.cli.main import run; run()"
_ENTRY = os.path.join(_LIBRARY, "rewind", "hooks", "start.py")
_PYTHON = (sys.executable, "-I", "-S")
# The demo may run inside an agent. The variables of that agent's session must not reach it.
_FOREIGN = ("REWIND_", "CLAUDE", "FACTORY", "DROID", "GIT_", "XDG_", "PYTHON", "AI_AGENT")


class CheckFailed(Exception):
    """Something is not as it should be."""


class World:
    def __init__(self) -> None:
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="rewind-demo-"))
        self.home, self.project = self.top + "/home", f"{self.top}/{PROJECT}"
        self.agent_home = self.home + "/.claude"
        self.homes = {"REWIND_HOME": self.home + "/.rewind", "CLAUDE_CONFIG_DIR": self.agent_home}
        # The agent lists its open sessions here; an empty directory says that there are none.
        os.makedirs(self.agent_home + "/sessions")
        for name, content in BEFORE.items():
            self.write(name, content)

    def env(self, **more: str) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(_FOREIGN)}
        return {**kept, **self.homes, "HOME": self.home, "FACTORY_HOME_OVERRIDE": self.home, **more}

    def rewind(self, *args: str) -> Any:
        """What a person types, with its answer as JSON."""
        done = self._run([*_PYTHON, "-c", _PROGRAM, _LIBRARY, *args, "--json"])
        if done.returncode:
            raise CheckFailed(f"`rewind {' '.join(args)}` ended with {done.returncode}: {_text(done.stderr)}")
        return json.loads(done.stdout)

    def hook(self, action: str, payload: JsonObject, **env: str) -> None:
        """As the client runs it: an event on standard input, and not a word back."""
        done = self._run([*_PYTHON, _ENTRY, action], json.dumps(payload).encode(), **env)
        if done.returncode or done.stdout or done.stderr:
            raise CheckFailed(f"the hook {action} ended with {done.returncode} and said:"
                            f" {_text(done.stdout + done.stderr) or 'nothing'}")

    def shell(self, command: str) -> None:
        if self._run(["/bin/sh", "-c", command]).returncode:
            raise CheckFailed(f"the shell could not do: {command}")

    def _run(self, command: list[str], data: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(command, input=data, cwd=self.project, env=self.env(**env),
                              capture_output=True, timeout=60, check=False)

    def path(self, name: str) -> str:
        return os.path.join(self.project, name)

    def write(self, name: str, content: str) -> None:
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content)

    def files(self) -> dict[str, bytes]:
        """Every file of the project and its bytes, without Rewind's own."""
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(self.project) for name in names]
        found = {os.path.relpath(path, self.project): content(path) for path in paths}
        return {name: data for name, data in found.items() if not name.startswith(".agent/")}

    def remove(self) -> None:
        """A chore that a checkpoint left to the background may still be writing."""
        for _ in range(50):
            shutil.rmtree(self.top, ignore_errors=True)
            if not os.path.exists(self.top):
                return
            time.sleep(0.05)


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

    def _append(self, line: JsonObject) -> None:
        with open(self.transcript, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _text(data: bytes) -> str:
    return " ".join(data.decode("utf-8", "replace").split())[:500]
