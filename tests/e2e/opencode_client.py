"""Runs the real opencode, one `opencode run` for each prompt, or its server for actions without a command.

It has its own home, and a scripted model replaces the network.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Optional

from chat_api import ChatApi
from stage import Stage, names
from talk import talk

PATIENCE = 180.0
OWN = ("package.json", "package-lock.json", "node_modules", ".gitignore")  # opencode's, in its configuration


class Opencode:
    def __init__(self, program: Path, stage: Stage, api: ChatApi) -> None:
        self.program = program
        self.stage = stage
        self.home, self.project = stage
        self.api = api
        self.config = stage.home / ".config" / "opencode"
        self.config.mkdir(parents=True, exist_ok=True)
        self._copy_packages()
        model = {"name": "Mock", "tool_call": True, "limit": {"context": 200_000, "output": 8192}}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "Mock", "models": {"mock-1": model},
                    "options": {"baseURL": f"{api.url}/v1", "apiKey": "made-up"}}
        settings = {"model": "mock/mock-1", "small_model": "mock/mock-1", "autoupdate": False,
                    "share": "disabled", "provider": {"mock": provider}}
        # An empty list of models. Reading the usual one takes over a second of each start.
        models = stage.home / "models.json"
        models.write_text("{}")
        off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE")
        self.env = {"HOME": str(stage.home), "TERM": "dumb", "LANG": "C.UTF-8", "DO_NOT_TRACK": "1",
                    "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1",
                    "OPENCODE_CONFIG_CONTENT": json.dumps(settings), "OPENCODE_MODELS_PATH": str(models),
                    **{f"OPENCODE_DISABLE_{name}": "1" for name in off},
                    "PATH": os.pathsep.join([str(program.parent), "/usr/local/bin", "/usr/bin", "/bin"])}

    def _copy_packages(self) -> None:
        """Copy what opencode would fetch from the network at its first start with a plugin, if `scripts/e2e`
        has fetched it."""
        kept = next((top / "config" for top in self.program.parents if (top / "config").is_dir()), None)
        for name in OWN if kept else ():
            assert kept
            if (kept / name).is_dir():
                shutil.copytree(kept / name, self.config / name, dirs_exist_ok=True, symlinks=True)
            elif (kept / name).exists():
                shutil.copy(kept / name, self.config / name)

    def run(self, *args: str, text: str = "") -> str:
        done = subprocess.run([str(self.program), *args], cwd=self.project, env=self.env, text=True,
                              input=text, capture_output=True, timeout=PATIENCE)
        assert done.returncode == 0, done
        return done.stdout

    def ask(self, prompt: str, session: str = "") -> str:
        """Send a prompt in a new session, or resume one. Returns its id. The prompt goes to standard input,
        because opencode would put an argument with a blank in quotes."""
        out = self.run("run", "--format", "json", "--auto", *(["--session", session] if session else []),
                       text=prompt)
        events = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        return str(next(event["sessionID"] for event in events if event.get("sessionID")))

    def transcript(self, session: str) -> Path:
        """Rewind's copy of the session."""
        folder = re.sub("[^A-Za-z0-9]", "-", str(self.project.resolve()))
        return self.home / ".rewind" / "transcripts" / "opencode" / folder / f"{session}.jsonl"

    def heard(self, prompt: str) -> list[str]:
        """All that the model was told when it got this prompt."""
        return talk(self.api.asked(prompt), names(self.stage))

    def hear(self, session: str, prompt: str) -> list[str]:
        """What the model is told when the session is resumed with one more prompt."""
        assert self.ask(prompt, session) == session
        return self.heard(prompt)

    def listed(self) -> dict[str, str]:
        """The sessions that it offers, by id, with their titles."""
        found = json.loads(self.run("session", "list", "--format", "json"))
        return {one["id"]: one["title"] for one in found}

    def rows(self, session: str) -> list[Any]:
        """Everything about a session in opencode's database."""
        path = self.home / ".local" / "share" / "opencode" / "opencode.db"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as db:
            return [db.execute(f"SELECT * FROM {table} WHERE {key} = ? ORDER BY id", (session,)).fetchall()
                    for table, key in (("session", "id"), ("message", "session_id"), ("part", "session_id"))]

    @contextmanager
    def server(self) -> Iterator[Server]:
        """A server with opencode's interface for other programs. It also loads the plugin."""
        with subprocess.Popen([str(self.program), "serve", "--port", "0"], cwd=self.project, env=self.env,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            try:
                assert process.stdout
                found = (re.search(r"http://\S+", line) for line in process.stdout)
                yield Server(next(match.group() for match in found if match), str(self.project))
            finally:
                process.terminate()
                try:
                    process.wait(90)
                except subprocess.TimeoutExpired:
                    process.kill()


class Server:
    def __init__(self, url: str, folder: str) -> None:
        self.url = url
        self.folder = folder

    def post(self, path: str, **body: Any) -> Any:
        return self._request("POST", path, json.dumps(body).encode())

    def _request(self, method: str, path: str, data: Optional[bytes] = None) -> Any:
        request = urllib.request.Request(
            self.url + path, data, method=method,
            headers={"content-type": "application/json", "x-opencode-directory": self.folder})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read() or b"null")

    def say(self, session: str, text: str) -> None:
        """Send a prompt and wait for the answer."""
        self.post(f"/session/{session}/message", parts=[{"type": "text", "text": text}])

    def listed(self) -> dict[str, str]:
        """The sessions that it offers, by id, with their titles."""
        return {one["id"]: one["title"] for one in self._request("GET", "/session")}

    def delete(self, session: str) -> None:
        self._request("DELETE", f"/session/{session}")

    def revert(self, session: str, message: str) -> None:
        """opencode's own /undo."""
        self.post(f"/session/{session}/revert", messageID=message)

    def compact(self, session: str) -> None:
        self.post(f"/session/{session}/summarize", providerID="mock", modelID="mock-1")
