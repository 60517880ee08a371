"""Runs the real Claude Code, with its own home and with a scripted model instead of the network."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable

from mock_api import MockApi
from screen import Screen, wait_until
from stage import Stage, names
from talk import talk

KEY = "sk-ant-made-up"
TOOLS = ["--permission-mode", "acceptEdits", "--allowedTools", "Write,Edit,Bash"]


class Claude:
    def __init__(self, program: Path, stage: Stage, api: MockApi) -> None:
        self.program = program
        self.stage = stage
        self.home, self.project = stage
        self.api = api
        self.config = stage.home / ".claude"
        self.env = _environment(program, stage, api)
        _answer_first_questions(stage)

    def transcript(self, session: str) -> Path:
        return next((self.config / "projects").glob(f"*/{session}.jsonl"))

    def ask(self, prompt: str, resume: str = "") -> str:
        """Send one prompt in print mode. Returns the id of the session."""
        with self.asking(prompt, resume) as process:
            out, err = process.communicate(timeout=90)
        assert process.returncode == 0, (out, err)
        return str(json.loads(out)["session_id"])

    @contextmanager
    def asking(self, prompt: str, resume: str = "") -> Iterator[subprocess.Popen[str]]:
        command = [str(self.program), "-p", prompt, "--output-format", "json", *TOOLS,
                   *(["--resume", resume] if resume else [])]
        with subprocess.Popen(command, cwd=self.project, env=self.env, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()

    @contextmanager
    def asking_on(self) -> Iterator[Callable[[str], dict[str, Any]]]:
        """One process for several prompts and commands. Yields a function that sends one and returns its
        result."""
        command = [str(self.program), "-p", "--input-format", "stream-json", "--output-format",
                   "stream-json", "--verbose", *TOOLS]
        with subprocess.Popen(command, cwd=self.project, env=self.env, text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            patience = threading.Timer(120, process.kill)
            patience.start()
            try:
                yield lambda text: _say(process, text)
                assert process.stdin
                process.stdin.close()
                assert process.wait() == 0
            finally:
                patience.cancel()
                if process.poll() is None:
                    process.kill()

    def heard(self, prompt: str) -> list[str]:
        """All that the model was told when it got this prompt."""
        return talk(self.api.asked(prompt), names(self.stage))

    def hear(self, session: str, prompt: str) -> list[str]:
        """What the model is told when the session is resumed with one more prompt."""
        assert self.ask(prompt, resume=session) == session
        return self.heard(prompt)

    @contextmanager
    def open(self, resume: str = "", *options: str) -> Iterator[ClaudeScreen]:
        """The interactive client. It is closed like a person does it."""
        command = [str(self.program), *TOOLS, *(["--resume", resume] if resume else []), *options]
        with Screen(command, self.env, self.project) as screen:
            opened = ClaudeScreen(self, screen)
            opened.settle()
            yield opened
            opened.close()

    def open_beside(self, resume: str) -> Screen:
        """Another interactive client with the same session. It ends with its screen."""
        return Screen([str(self.program), *TOOLS, "--resume", resume], self.env, self.project)

    def live(self) -> list[dict[str, Any]]:
        """What running clients write about themselves."""
        found = []
        for path in (self.config / "sessions").glob("*.json"):
            try:
                found.append(json.loads(path.read_bytes()))
            except (OSError, ValueError):
                continue  # it is being written, or was removed with its client
        return found


def _say(process: subprocess.Popen[str], text: str) -> dict[str, Any]:
    assert process.stdin and process.stdout
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    process.stdin.write(json.dumps({"type": "user", "message": message}) + "\n")
    process.stdin.flush()
    return next(event for event in map(json.loads, process.stdout) if event.get("type") == "result")


class ClaudeScreen:
    """The interactive client as its user sees it."""

    def __init__(self, client: Claude, screen: Screen) -> None:
        self.client = client
        self.screen = screen

    @property
    def session(self) -> str:
        found = self.client.live()
        return str(found[0]["sessionId"]) if found else ""

    def ask(self, prompt: str) -> list[str]:
        """Send a prompt and wait for the answer. Returns what the model was told."""
        self.begin(prompt)
        self.settle()
        return self.client.heard(prompt)

    def begin(self, prompt: str) -> None:
        """Send a prompt without waiting for the answer."""
        self.screen.type(prompt)
        wait_until(lambda: self.client.api.was_asked(prompt), self.screen.text)

    def shell(self, command: str) -> None:
        """Run a command in the client's shell mode. The model comments on it."""
        self.screen.press("!")
        self.screen.wait("! for shell mode")
        self.screen.type(command, mark="!")
        wait_until(lambda: self.client.api.was_asked("<bash-stdout>"), self.screen.text)
        self.settle()

    def interrupt(self) -> None:
        self.screen.press("Escape")
        self.settle()
        self.screen.press("C-u")  # a prompt without any answer goes back into the input box

    def switch_to(self, title: str) -> None:
        """Switch to the session with this title in the list of /resume."""
        was = self.session
        self.screen.type("/resume")
        self.screen.wait(title)
        self.screen.press_until("Down", f" ❯ {title}")
        self.screen.press("Enter")
        wait_until(lambda: self.session != was, self.screen.text)
        self.settle()

    def compact(self) -> None:
        self.screen.type("/compact")
        self.screen.wait("Compacted")
        self.settle()

    def rewind_before(self, prompt: str) -> None:
        """The client's own /rewind, the conversation only."""
        self.screen.type("/rewind")
        self.screen.wait("❯ (current)")
        self.screen.press_until("Up", f" ❯ {prompt}")
        self.screen.press("Enter")
        self.screen.wait("1. Restore")
        choice = next(line for line in self.screen.text().splitlines() if "Restore conversation" in line)
        self.screen.press(choice.strip("❯ ")[0])
        wait_until(lambda: "Never mind" not in self.screen.text(), self.screen.text)
        self.settle()
        self.screen.press("C-u")  # it has put the prompt back into the input box

    def settle(self) -> None:
        """Wait until the client is idle and has written everything, which it does a little later."""
        wait_until(lambda: [found.get("status") for found in self.client.live()] == ["idle"],
                   self.screen.text)
        sizes = [-1]
        while sizes[-1] != self._size():
            sizes.append(self._size())
            time.sleep(0.5)

    def _size(self) -> int:
        files = (self.client.config / "projects").glob("*/*.jsonl")
        return sum(path.stat().st_size for path in files)

    def close(self) -> None:
        self.screen.type("/exit")
        wait_until(lambda: not self.screen.running(), self.screen.text)


def _environment(program: Path, stage: Stage, api: MockApi) -> dict[str, str]:
    return {
        "HOME": str(stage.home), "TERM": "xterm-256color", "LANG": "C.UTF-8",
        "PATH": os.pathsep.join([str(program.parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": KEY,
        "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1",
    }


def _answer_first_questions(stage: Stage) -> None:
    """Answer the questions of a first run: theme, key, and whether the directory is trusted."""
    path = stage.home / ".claude.json"
    found = json.loads(path.read_bytes()) if path.exists() else {}
    found.update(hasCompletedOnboarding=True, theme="dark", numStartups=5,
                 customApiKeyResponses={"approved": [KEY[-20:]], "rejected": []})
    found.setdefault("projects", {}).setdefault(str(stage.project), {}).update(
        hasTrustDialogAccepted=True, hasCompletedProjectOnboarding=True,
        projectOnboardingSeenCount=4, allowedTools=[])
    path.write_text(json.dumps(found))
