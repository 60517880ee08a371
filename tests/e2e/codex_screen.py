"""Codex in its terminal UI, in one process: without `--no-daemon` a server would outlive the test."""

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
# What it asks when it starts, and the number of the answer that goes on.
QUESTIONS = {"Trust this folder?": "1", "Hooks need review": "2", "Use existing model": "2"}


class CodexScreen:
    """As its only user sees it."""

    def __init__(self, client: Codex, screen: Screen) -> None:
        self.client = client
        self.screen = screen
        self.asked: set[str] = set()  # the questions that it asked

    def start(self, ready: str) -> None:
        """Its questions are answered as they come, until this is on the screen."""
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
        """A prompt and its answer; what the model was told."""
        self.type(prompt)
        self.wait(f"• {answer}")
        return self.client.heard(prompt)

    def type(self, text: str) -> None:
        self.screen.write(text)
        self.wait(f"› {text}")
        time.sleep(0.5)  # an Enter that comes with the text is taken for a part of it
        self.screen.press("Enter")

    def choose(self, title: str) -> None:
        """In its list of threads, of which the first is marked."""
        self.wait(title)
        self.screen.press_until("Down", title, mark="›")
        self.screen.press("Enter")
        self.start(READY)

    def rewind_last(self, prompt: str) -> None:
        """Its own way back, to before the last prompt. That is in the input again, and is taken out."""
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
    """A new thread, or what another command of a person opens: such as the one that Rewind has printed."""
    options = ["--no-daemon", *client.provider, "--dangerously-bypass-approvals-and-sandbox"]
    env = {**client.env, "TERM": "xterm-256color"}
    with Screen(["sh", "-c", f"{command} {shlex.join(options)}"], env, client.project) as screen:
        opened = CodexScreen(client, screen)
        opened.start(ready)
        yield opened
