"""The interactive Claude Code with Rewind's plugin, as its user sees it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from claude_client import Claude, ClaudeScreen
from installed import state
from screen import wait_until
from scripted import prompt

# Lines that a client may append to a session when it leaves it. None of them reaches the model.
BOOKKEEPING = {"queue-operation", "cost-state", "last-prompt", "custom-title", "agent-name", "ai-title",
               "mode", "permission-mode", "file-history-snapshot"}


class Inside:
    """One client with the plugin. After each prompt, it notes what the model was told, and the files."""

    def __init__(self, opened: ClaudeScreen) -> None:
        self.opened = opened
        self.screen = opened.screen
        self.client = opened.client
        self.project = opened.client.project
        self.told: list[list[str]] = []
        self.states = [state(self.project)]

    def ask(self, *names: str) -> None:
        for name in names:
            self.told.append(self.opened.ask(prompt(name)))
            self.states.append(state(self.project))

    def hear(self, name: str = "NEXT") -> list[str]:
        """What the model is told with one more prompt, without that prompt."""
        self.empty_box()
        return self.opened.ask(prompt(name))[:-1]

    def before(self, name: str) -> list[str]:
        """What the model knew when it got this prompt."""
        return next(told[:-1] for told in self.told if told[-1] == f"user: {prompt(name)}")

    @property
    def session(self) -> str:
        return self.opened.session

    def transcript(self, session: str = "") -> Path:
        return self.client.transcript(session or self.session)

    # commands

    def plan(self, command: str, shows: str = "") -> str:
        """Type a command and wait for its plan. Returns the screen."""
        self.screen.type(command)
        self.screen.wait(shows or "[ Go back ]")
        return self.screen.text()

    def agree(self) -> str:
        """Press Enter. Returns the session that is open afterwards."""
        was = self.session
        self.screen.press("Enter")
        wait_until(lambda: self.session not in ("", was), self.screen.text)
        self.opened.settle()
        return self.session

    def goback(self, typed: str = "") -> str:
        self.plan(f"/goback {typed}".strip())
        session = self.agree()
        wait_until(lambda: self.box() != "", self.screen.text)
        return session

    def goforward(self) -> str:
        self.plan("/goforward", "[ Undo ]")
        session = self.agree()
        self.screen.wait("Undone")
        self.opened.settle()
        return session

    # the screen

    def box(self) -> str:
        """The draft in the prompt box."""
        lines = [line for line in self.screen.text().splitlines() if line.startswith("❯")]
        return lines[-1][1:].replace("\xa0", " ").split("│")[0].strip() if lines else ""

    def empty_box(self) -> None:
        self.screen.press("C-u")
        wait_until(lambda: self.box() == "", self.screen.text)


@contextmanager
def inside(client: Claude, *options: str) -> Iterator[Inside]:
    with client.open("", *options) as opened:
        found = Inside(opened)
        yield found
        found.screen.press("C-u")


def appended(path: Path, before: bytes) -> list[dict[str, Any]]:
    """The lines after these bytes, which must not have changed."""
    now = path.read_bytes()
    assert now.startswith(before)
    return [json.loads(line) for line in now[len(before):].splitlines()]


def check_no_trace(path: Path, before: bytes) -> None:
    """Check that the session is unchanged and contains no trace of a command."""
    lines = appended(path, before)
    assert {line["type"] for line in lines} <= BOOKKEEPING, lines
    text = path.read_text()
    assert not any(word in text for word in ("/goback", "/goforward", "/timeline", "rewind-plan"))
