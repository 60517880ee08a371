"""Gemini CLI in its terminal UI."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Callable

from gemini_client import Gemini
from screen import Screen, wait_until

PATIENCE = 120.0
READY = "Type your message"


class GeminiScreen:
    """As its only user sees it."""

    def __init__(self, client: Gemini, screen: Screen) -> None:
        self.client = client
        self.screen = screen

    def ask(self, prompt: str, answer: str) -> list[str]:
        """A prompt and its answer; what the model was told."""
        self.send(prompt, lambda: f"> {prompt}" in self.screen.text())
        self.wait(f"✦ {answer}")
        return self.client.heard(prompt)

    def send(self, text: str, is_done: Callable[[], bool]) -> None:
        """Type it, in place of what is in the input, and press Enter until something comes of it."""
        self.screen.press("C-u")
        self.wait(READY)
        self.screen.write(text)
        self.wait(f"* {text}")
        self.wait_until(lambda: is_done() or self._press_enter(text))

    def _press_enter(self, text: str) -> bool:
        """It is taken for a new line if it comes with the text, or by a list of commands that opens."""
        time.sleep(1)
        if f"* {text}" in self.screen.text():
            self.screen.press("Enter")
            time.sleep(1)
        return False

    def command(self, text: str, shows: str) -> None:
        self.send(text, lambda: shows in self.screen.text())

    def quit(self) -> None:
        self.send("/quit", lambda: not self.screen.running())

    def rewind_before(self, prompt: str) -> None:
        """Its own way back, the conversation alone. The prompt is in the input again."""
        self.command("/rewind", "Stay at current position")
        self.screen.press_until("Up", f"● {prompt}")
        self.screen.press("Enter")
        self.wait("1. Rewind conversation")
        self.screen.press("Enter")
        self.wait(f"* {prompt}")

    def choose(self, title: str, shows: str) -> None:
        """In its list of sessions, of which the first is marked."""
        self.command("/resume", title)
        self.screen.press_until("Down", title, mark="❯")
        self.screen.press("Enter")
        self.wait(shows)
        self.wait(READY)

    def wait(self, text: str) -> None:
        wait_until(lambda: text in self.screen.text(),
                   lambda: f"no {text!r} on the screen:\n{self.screen.text()}", PATIENCE)

    def wait_until(self, there: Callable[[], bool]) -> None:
        wait_until(there, self.screen.text, PATIENCE)


@contextmanager
def open_gemini(client: Gemini, command: str = "gemini", shows: str = "") -> Iterator[GeminiScreen]:
    """A new session, or what another command of a person opens, such as the one that Rewind has printed: then
    it takes prompts once it `shows` what was said."""
    folder = client.home / "gemini-bin"
    folder.mkdir(exist_ok=True)
    (folder / "gemini").write_text(f'#!/bin/sh\nexec {shlex.join(client.command)} "$@"\n')
    (folder / "gemini").chmod(0o755)
    env = {**client.env, "TERM": "xterm-256color", "PATH": f"{folder}:{client.env['PATH']}"}
    options = "--model gemini-2.5-flash --approval-mode yolo"
    with Screen(["sh", "-c", f"{command} {options}"], env, client.project) as screen:
        opened = GeminiScreen(client, screen)
        opened.wait(shows or READY)
        opened.wait_until(lambda: READY in screen.text() and "Resuming session" not in screen.text())
        yield opened
