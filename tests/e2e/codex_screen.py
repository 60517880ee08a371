"""Codex in its terminal UI. `--no-daemon` prevents a server that would continue after the test."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Callable

from codex_client import Codex
from screen import Screen, wait_until

PATIENCE = 120.0
READY = "permissions: YOLO mode"
# The questions that it asks when it starts, and the number of the answer that continues.
QUESTIONS = {"Trust this folder?": "1", "Hooks need review": "2", "Use existing model": "2"}


class CodexScreen:
    """Codex as its user sees it."""

    def __init__(self, client: Codex, screen: Screen) -> None:
        self.client = client
        self.screen = screen
        self.asked: set[str] = set()  # the questions that it asked

    def start(self, ready: str) -> None:
        """Answer its questions until the text `ready` is on the screen."""
        self.wait_until(lambda: self._is_ready(ready))

    def _is_ready(self, ready: str) -> bool:
        text = self.screen.text()
        question = next((question for question in QUESTIONS if question in text), "")
        if not question:
            return ready in text
        self.asked.add(question)
        number = QUESTIONS[question]
        self.screen.press("Enter" if f"› {number}." in text else number)
        time.sleep(0.5)
        return False

    def ask(self, prompt: str, answer: str) -> list[str]:
        """Send a prompt and wait for the answer. Returns what the model was told."""
        self.type(prompt)
        self.wait(f"• {answer}")
        return self.client.heard(prompt)

    def type(self, text: str) -> None:
        self.screen.write(text)
        self.wait(f"› {text}")
        time.sleep(0.5)  # an Enter right after the text would be taken for a part of it
        self.screen.press("Enter")

    def choose(self, title: str) -> None:
        """Choose a thread in its list, where the first one is selected."""
        self.wait(title)
        self.screen.press_until("Down", title, mark="›")
        self.screen.press("Enter")
        self.start(READY)

    def rewind_last(self, prompt: str) -> None:
        """Codex's own rewind to before the last prompt. The prompt is then in the input, and is removed
        there."""
        self.screen.press("Escape")
        self.wait("esc again")
        self.screen.press("Escape")
        self.wait("rewind")
        self.screen.press("Enter")
        self.wait("Conversation reverted")
        self.wait(f"› {prompt}")
        self.screen.press("C-u")
        self.wait("Ask Codex to do anything")

    def wait(self, text: str) -> None:
        wait_until(lambda: text in self.screen.text(),
                   lambda: f"no {text!r} on the screen:\n{self.screen.text()}", PATIENCE)

    def wait_until(self, there: Callable[[], bool]) -> None:
        wait_until(there, self.screen.text, PATIENCE)

    def quit(self) -> None:
        self.type("/quit")
        self.wait_until(lambda: not self.screen.running())


@contextmanager
def open_codex(client: Codex, command: str = "codex", ready: str = READY) -> Iterator[CodexScreen]:
    """Open a new thread, or what another command opens, such as one that Rewind has printed."""
    options = ["--no-daemon", *client.provider, "--dangerously-bypass-approvals-and-sandbox"]
    env = {**client.env, "TERM": "xterm-256color"}
    with Screen(["sh", "-c", f"{command} {shlex.join(options)}"], env, client.project) as screen:
        opened = CodexScreen(client, screen)
        opened.start(ready)
        yield opened
