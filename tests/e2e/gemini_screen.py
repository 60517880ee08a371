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
    """Gemini CLI as its user sees it."""

    def __init__(self, client: Gemini, screen: Screen) -> None:
        self.client = client
        self.screen = screen

    def ask(self, prompt: str, answer: str) -> list[str]:
        """Send a prompt and wait for the answer. Returns what the model was told."""
        self.send(prompt, lambda: f"> {prompt}" in self.screen.text())
        self.wait(f"✦ {answer}")
        return self.client.heard(prompt)

    def send(self, text: str, is_done: Callable[[], bool]) -> None:
        """Replace the text in the input, and press Enter until it takes effect."""
        self.screen.press("C-u")
        self.wait(READY)
        self.screen.write(text)
        self.wait(f"* {text}")
        self.wait_until(lambda: is_done() or self._press_enter(text))

    def _press_enter(self, text: str) -> bool:
        """An Enter right after the text is taken for a new line, or goes to a list of commands that opens."""
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
        """Gemini CLI's own rewind of the conversation. The prompt is then in the input."""
        self.command("/rewind", "Stay at current position")
        self.screen.press_until("Up", f"● {prompt}")
        self.screen.press("Enter")
        self.wait("1. Rewind conversation")
        self.screen.press("Enter")
        self.wait(f"* {prompt}")

    def choose(self, title: str, shows: str) -> None:
        """Choose a session in its list, where the first one is selected."""
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
    """Open a new session, or what another command opens, such as one that Rewind has printed. In that case,
    it accepts prompts when the text `shows` is on the screen."""
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
