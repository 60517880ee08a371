"""Runs the real Codex, one `codex exec` for each prompt. With a custom provider it needs no login.

It has its own home, and a scripted model replaces the network.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Optional

from responses_api import ResponsesApi
from stage import Stage, names
from talk import talk

PATIENCE = 90.0
MODEL = "gpt-5.5"  # later models have a single tool, which runs JavaScript


class Codex:
    def __init__(self, program: Path, stage: Stage, api: ResponsesApi) -> None:
        self.program = program
        self.stage = stage
        self.home, self.project = stage
        self.api = api
        self.env = {"HOME": str(stage.home), "TERM": "dumb", "LANG": "C.UTF-8", "MOCK_KEY": "made-up",
                    "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1",
                    "PATH": os.pathsep.join([str(program.parent), "/usr/local/bin", "/usr/bin", "/bin"])}
        self.config = stage.home / ".codex"
        self.config.mkdir(exist_ok=True)

    @property
    def provider(self) -> list[str]:
        """The arguments that select the scripted model. They are not written into the settings."""
        settings: dict[str, Any] = {
            "model": MODEL, "model_provider": "mock", "model_providers.mock.name": "mock",
            "model_providers.mock.wire_api": "responses", "model_providers.mock.env_key": "MOCK_KEY",
            "model_providers.mock.base_url": f"{self.api.url}/v1",
            "model_providers.mock.request_max_retries": 0, "model_providers.mock.stream_max_retries": 0,
            "analytics.enabled": False, "check_for_update_on_startup": False}
        return [word for key, value in settings.items() for word in ("-c", f"{key}={json.dumps(value)}")]

    def transcript(self, session: str) -> Path:
        """The newest file of the thread."""
        found = (self.config / "sessions").glob(f"*/*/*/rollout-*-{session}*.jsonl")
        return max(found, key=lambda path: path.name)

    def ask(self, prompt: str, session: str = "", *more: str) -> str:
        """Send a prompt in a new session, or resume one. Returns its id. Hooks run without being trusted, for
        this one process."""
        return self._exec(["resume"] if session else [], prompt, session, *more)

    def fork(self, session: str, prompt: str) -> str:
        """Codex's own fork of the whole thread, which is a file that refers to the original."""
        return self._exec(["fork"], prompt, session)

    def _exec(self, verb: list[str], prompt: str, session: str, *more: str) -> str:
        command = [str(self.program), "exec", *verb, *self.provider, "--skip-git-repo-check", "--json",
                   "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust", *more,
                   "--", *([session] if session else []), prompt]
        done = subprocess.run(command, cwd=self.project, env=self.env, text=True, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=PATIENCE)
        assert done.returncode == 0, done
        events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return str(next(e["thread_id"] for e in events if e.get("type") == "thread.started"))

    def heard(self, prompt: str) -> list[str]:
        """All that the model was told when it got this prompt."""
        return talk(self.api.asked(prompt), names(self.stage))

    def hear(self, session: str, prompt: str) -> list[str]:
        """What the model is told when the session is resumed with one more prompt."""
        assert self.ask(prompt, session) == session
        return self.heard(prompt)

    @contextmanager
    def server(self) -> Iterator[Server]:
        """A server with Codex's own protocol for other programs."""
        command = [str(self.program), "app-server", *self.provider]
        with subprocess.Popen(command, cwd=self.project, env=self.env, text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            try:
                yield Server(process)
            finally:
                assert process.stdin
                process.stdin.close()
                try:
                    process.wait(90)
                except subprocess.TimeoutExpired:
                    process.kill()


class Server:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.calls = 0
        self._incoming: queue.Queue[Optional[dict[str, Any]]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.call("initialize", clientInfo={"name": "e2e", "title": "e2e", "version": "0"},
                  capabilities={"experimentalApi": True})
        self._send({"method": "initialized"})

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._incoming.put(json.loads(line))
        self._incoming.put(None)

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self.calls += 1
        self._send({"id": self.calls, "method": method, "params": params})
        while True:
            message = self._incoming.get(timeout=PATIENCE)
            assert message is not None, "the server has ended"
            if message.get("id") == self.calls and "method" not in message:
                assert "error" not in message, (method, message)
                return dict(message["result"])

    def wait_for(self, method: str) -> None:
        """Wait for a message with this method."""
        while True:
            message = self._incoming.get(timeout=PATIENCE)
            assert message is not None, "the server has ended"
            if message.get("method") == method:
                return

    def revert(self, session: str, turn: str) -> None:
        """Codex's own rewind, after which the thread continues in a second file."""
        self.call("thread/resume", threadId=session)
        self.call("thread/revert", threadId=session, beforeTurnId=turn)

    def compact(self, session: str) -> None:
        self.call("thread/resume", threadId=session)
        self.call("thread/compact/start", threadId=session)

    def listed(self) -> dict[str, Any]:
        """The threads that it offers to resume, by id, with their names."""
        kinds = ["cli", "vscode", "exec", "appServer"]
        return {t["id"]: t.get("name") for t in self.call("thread/list", sourceKinds=kinds)["data"]}
