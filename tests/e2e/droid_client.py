"""Runs the real Droid over JSON-RPC, the transport of its own SDK, which needs no login.

It has its own home, and a scripted model replaces the network.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

from mock_api import MockApi
from stage import Stage, names
from talk import talk

PATIENCE = 120.0
Message = dict[str, Any]


class Droid:
    def __init__(self, program: Path, stage: Stage, api: MockApi) -> None:
        self.program = program
        self.stage = stage
        self.home, self.project = stage
        self.api = api
        self.env = {"HOME": str(stage.home), "TERM": "xterm-256color", "LANG": "C.UTF-8",
                    "PATH": os.pathsep.join([str(program.parent), "/usr/local/bin", "/usr/bin", "/bin"])}
        self.config = stage.home / ".factory"
        self.choose_model()

    def choose_model(self) -> None:
        path = self.config / "settings.json"
        path.parent.mkdir(exist_ok=True)
        found = json.loads(path.read_bytes()) if path.exists() else {}
        found.update(cloudSessionSync=False, enableTelemetry=False, customModels=[{
            "model": "mock", "displayName": "Mock", "baseUrl": self.api.url, "apiKey": "made-up",
            "provider": "anthropic", "maxOutputTokens": 8192}])
        path.write_text(json.dumps(found))

    def transcript(self, session: str) -> Path:
        return next((self.config / "sessions").glob(f"*/{session}.jsonl"))

    def settings(self, session: str) -> dict[str, Any]:
        return dict(json.loads(self.transcript(session).with_suffix(".settings.json").read_bytes()))

    @contextmanager
    def open(self, resume: str = "") -> Iterator[DroidSession]:
        """A running Droid, with a new session or with one that it loads."""
        command = [str(self.program), "exec", "--input-format", "stream-jsonrpc",
                   "--output-format", "stream-jsonrpc"]
        with subprocess.Popen(command, cwd=self.project, env=self.env, text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            try:
                session = DroidSession(self, process)
                session.load(resume) if resume else session.start()
                yield session
                session.close()
            finally:
                if process.poll() is None:
                    process.kill()

    def heard(self, prompt: str) -> list[str]:
        """All that the model was told when it got this prompt."""
        return talk(self.api.asked(prompt), names(self.stage))

    def hear(self, session: str, prompt: str) -> list[str]:
        """What the model is told when the session is resumed with one more prompt."""
        with self.open(session) as opened:
            return opened.ask(prompt)

    def run(self, *args: str) -> str:
        done = subprocess.run([str(self.program), *args], cwd=self.project, env=self.env, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
        assert done.returncode == 0, done
        return done.stdout


class DroidSession:
    """One Droid process and the session that is open in it."""

    def __init__(self, client: Droid, process: subprocess.Popen[str]) -> None:
        self.client = client
        self.process = process
        self.session = ""
        self._passed: list[Message] = []
        self._incoming: queue.Queue[Optional[Message]] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            try:
                self._incoming.put(json.loads(line))
            except ValueError:
                continue
        self._incoming.put(None)

    def _send(self, message: Message) -> None:
        assert self.process.stdin
        found = {"jsonrpc": "2.0", "factoryApiVersion": "1.0.0", **message}
        self.process.stdin.write(json.dumps(found) + "\n")
        self.process.stdin.flush()

    def _messages(self) -> Iterator[Message]:
        """Droid's messages, with a time limit. Questions for permission are answered with yes."""
        end = time.monotonic() + PATIENCE
        while True:
            message = self._incoming.get(timeout=max(0.1, end - time.monotonic()))
            assert message is not None, "Droid has ended"
            if message.get("type") == "request":
                self._permit(message)
            self._passed.append(message)
            yield message

    def _permit(self, message: Message) -> None:
        yes = "permission" in message["method"]
        result = {"selectedOption": "proceed_once"} if yes else {"cancelled": True, "answers": []}
        self._send({"type": "response", "id": message["id"], "result": result})

    def call(self, method: str, **params: Any) -> Message:
        name = str(uuid.uuid4())
        self._send({"type": "request", "factoryProtocolVersion": "1.221.0", "id": name,
                    "method": f"droid.{method}", "params": params})
        answer = next(m for m in self._messages() if m.get("id") == name and m.get("type") != "request")
        assert "error" not in answer, (method, answer)
        return dict(answer["result"])

    def start(self) -> None:
        self.session = str(self.call(
            "initialize_session", machineId="e2e", cwd=str(self.client.project), modelId="custom:Mock-0",
            autonomyLevel="high", interactionMode="auto")["sessionId"])

    def load(self, session: str) -> None:
        self.call("load_session", sessionId=session)
        self.session = session

    def ask(self, prompt: str) -> list[str]:
        """Send a prompt and wait for the answer. Returns what the model was told."""
        self._passed.clear()
        self.call("add_user_message", text=prompt)
        # The turn may have ended before the call was answered.
        if not any(map(_ends_turn, self._passed)):
            next(filter(_ends_turn, self._messages()))
        return self.client.heard(prompt)

    def fork(self) -> str:
        """Droid's own fork of the whole session."""
        return str(self.call("fork_session", sessionId=self.session)["newSessionId"])

    def rewind_before(self, message: str, title: str) -> str:
        """Droid's own rewind to before a user message. Returns the new session."""
        return str(self.call("execute_rewind", sessionId=self.session, messageId=message, filesToRestore=[],
                             filesToDelete=[], forkTitle=title)["newSessionId"])

    def rename(self, title: str) -> None:
        self.call("rename_session", sessionId=self.session, title=title)

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)


def _ends_turn(message: Message) -> bool:
    return "agent_turn_completed" in json.dumps(message)
