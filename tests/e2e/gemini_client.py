"""Runs the real Gemini CLI, one `gemini -p` for each prompt. With a custom address it needs no login.

It has its own home, and a scripted model replaces the network.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from gemini_api import GeminiApi
from stage import Stage, names
from talk import talk

PATIENCE = 90.0
SETTINGS: dict[str, Any] = {
    "security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
    # The client deletes sessions that it has resumed, even its own. Tests about that turn it on.
    "general": {"enableAutoUpdate": False, "sessionRetention": {"enabled": False}}}


class Gemini:
    def __init__(self, program: Path, stage: Stage, api: GeminiApi) -> None:
        self.program = program
        self.stage = stage
        self.home, self.project = stage
        self.api = api
        node = shutil.which("node") or "node"
        self.command = [node, str(program)] if program.suffix == ".js" else [str(program)]
        folders = [str(Path(node).parent), "/usr/local/bin", "/usr/bin", "/bin"]
        self.env = {"HOME": str(stage.home), "TERM": "dumb", "LANG": "C.UTF-8", "NO_PROXY": "127.0.0.1",
                    "no_proxy": "127.0.0.1", "DO_NOT_TRACK": "1", "GEMINI_CLI_NO_RELAUNCH": "true",
                    "GEMINI_API_KEY": "made-up", "GOOGLE_GEMINI_BASE_URL": api.url,
                    "PATH": os.pathsep.join(folders)}
        self.config = stage.home / ".gemini"
        self.config.mkdir(exist_ok=True)
        self.settings = self.config / "settings.json"
        if not self.settings.exists():
            self.set()
        self.trust()

    def set(self, **more: Any) -> None:
        self.settings.write_text(json.dumps({**SETTINGS, **more}, indent=2))

    def trust(self, trusted: bool = True) -> None:
        rules = {os.path.realpath(self.project): "TRUST_FOLDER"} if trusted else {}
        (self.config / "trustedFolders.json").write_text(json.dumps(rules))

    def transcript(self, session: str) -> Path:
        """The file whose first line has this id. If there are several, the largest."""
        files = (self.config / "tmp").glob("*/chats/session-*.jsonl")
        found = [p for p in files if json.loads(p.read_bytes().split(b"\n")[0])["sessionId"] == session]
        return max(found, key=lambda path: path.stat().st_size)

    def ask(self, prompt: str, session: str = "", *more: str) -> str:
        """Send a prompt in a new session, or resume one. Returns its id."""
        resumed = ["--resume", session] if session else []
        done = self.run("--model", "gemini-2.5-flash", "--approval-mode", "yolo", "--output-format", "json",
                        *resumed, *more, "--prompt", prompt)
        return str(json.loads(done[done.index("{"):])["session_id"])

    def run(self, *args: str) -> str:
        done = subprocess.run([*self.command, *args], cwd=self.project, env=self.env, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
        assert done.returncode == 0, done
        return done.stdout + done.stderr if "--list-sessions" in args else done.stdout

    def heard(self, prompt: str) -> list[str]:
        """All that the model was told when it got this prompt. After a resume, Gemini CLI sends each result
        two or three times, even in sessions that no other program has touched. These repetitions are left
        out."""
        found: list[str] = []
        results: list[str] = []
        for line in talk(self.api.asked(prompt), names(self.stage)):
            results = [*results, line] if line.startswith("result ") else []
            if line not in results[:-1]:
                found.append(line)
        return found

    def hear(self, session: str, prompt: str) -> list[str]:
        """What the model is told when the session is resumed with one more prompt."""
        assert self.ask(prompt, session) == session
        return self.heard(prompt)
