"""The numbered list, driven as a person does: through a terminal, line by line."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, Optional

import pytest

from chat_scene import Scene
from cli.conftest import InProcess
from rewind_cli import PROGRAM, clean_env

ASKS = "q to quit:"


class Terminal:
    """A `rewind` in a pseudo-terminal that can do nothing but show text."""

    def __init__(self, cli: InProcess, *args: str, term: Optional[str] = "dumb") -> None:
        ours, theirs = pty.openpty()
        env = {**clean_env(cli.home), "COLUMNS": "80"}
        env.pop("TERM", None)
        env.update({"TERM": term} if term else {})
        self.fd = ours
        self.text = ""
        self.process = subprocess.Popen([sys.executable, "-I", "-S", str(PROGRAM), *args], cwd=cli.project,
                                        env=env, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)

    def until(self, wanted: str, patience: float = 60) -> str:
        """What came up to and with these words."""
        end = time.monotonic() + patience
        while wanted not in self.text:
            assert time.monotonic() < end and self._read(end), f"{wanted!r} never came: {self.text}"
        found, _, self.text = self.text.partition(wanted)
        return found + wanted

    def _read(self, end: float) -> bool:
        if not select.select([self.fd], [], [], max(0.0, end - time.monotonic()))[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # the other end is closed
            return False
        self.text += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)

    def say(self, text: str) -> None:
        os.write(self.fd, text.encode() + b"\n")

    def end(self) -> tuple[int, str]:
        until = time.monotonic() + 60
        while self._read(until):
            pass
        code = self.process.wait(timeout=60)
        assert "Traceback" not in self.text
        return code, self.text

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.fd)


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    scene = Scene(cli)
    for number, name in enumerate(("one", "two"), 1):
        scene.save("UserPromptSubmit", promptId=f"p{number}")
        scene.do(f"write {name}", **{name: f"{name}\n"})
    scene.controller().save("all is well")
    return scene


@pytest.fixture
def start(scene: Scene) -> Iterator[Any]:
    opened: list[Terminal] = []

    def starting(*args: str, **more: Any) -> Terminal:
        opened.append(Terminal(scene.cli, *args, **more))
        return opened[-1]

    yield starting
    for terminal in opened:
        terminal.close()


def number_of(text: str, listed: str) -> str:
    found = re.search(rf"^ *(\d+) .*{re.escape(text)}", listed, re.M)
    assert found, listed
    return found[1]


def test_rewind_alone_on_a_dumb_terminal_is_the_list(start: Any) -> None:
    terminal = start()
    listed = terminal.until(ASKS)
    assert "> write one" in listed and "* all is well" in listed
    assert listed.index("write one") < listed.index("write two") < listed.index("all is well")
    assert "\x1b" not in listed
    terminal.say("q")
    assert terminal.end()[0] == 0


@pytest.mark.parametrize("term", ["dumb", None])
def test_without_a_terminal_that_can_draw_tui_is_the_list_too(start: Any, term: Optional[str]) -> None:
    terminal = start("tui", term=term)
    terminal.until(ASKS)
    terminal.say("q")
    assert terminal.end()[0] == 0


def test_without_the_packages_it_says_how_to_get_them(start: Any) -> None:
    terminal = start("tui", term="xterm")  # started with -S, so that nothing but Python is there
    assert "agentrewind[ui]" in terminal.until(ASKS)
    terminal.say("q")
    assert terminal.end()[0] == 0


def test_jump_by_number_restores_code_and_forks_the_chat(start: Any, scene: Scene) -> None:
    terminal = start("tui", "--plain")
    terminal.say(number_of("> write two", terminal.until(ASKS)))
    assert "Jump: code + chat" in terminal.until("for the list:")
    terminal.say("1")
    plan = terminal.until("(y/n)")
    assert "two.txt" in plan and "> write two" in plan and scene.session in plan
    assert scene.read("two") == "two\n", "a plan touches nothing"
    terminal.say("y")
    code, text = terminal.end()
    assert code == 0
    assert scene.read("two") is None and scene.read("one") == "one\n"
    assert scene.fork() == ["write one"]
    assert f"claude --resume {scene.forks()[0].stem}" in text


def test_code_only(start: Any, scene: Scene) -> None:
    terminal = start("tui")
    terminal.say(number_of("> write two", terminal.until(ASKS)))
    terminal.until("for the list:")
    terminal.say("2")
    terminal.until("(y/n)")
    terminal.say("y")
    assert terminal.end()[0] == 0
    assert scene.read("two") is None
    assert not scene.forks()


def test_chat_fork(start: Any, scene: Scene) -> None:
    terminal = start("tui")
    terminal.say(number_of("> write two", terminal.until(ASKS)))
    terminal.until("for the list:")
    terminal.say("3")
    assert "The code stays as it is." in terminal.until("(y/n)")
    terminal.say("y")
    assert terminal.end()[0] == 0
    assert scene.read("two") == "two\n"
    assert scene.fork() == ["write one"]


def test_text_filters_and_an_empty_line_shows_everything(start: Any) -> None:
    terminal = start("tui")
    terminal.until(ASKS)
    terminal.say("WELL")
    listed = terminal.until(ASKS)
    assert "all is well" in listed and "write one" not in listed
    terminal.say("no such thing")
    assert "Nothing matches" in terminal.until(ASKS)
    terminal.say("")
    assert "write one" in terminal.until(ASKS)
    terminal.say("999")
    assert "There is no number 999" in terminal.until(ASKS)
    terminal.say("q")
    assert terminal.end()[0] == 0


def test_every_question_leads_back_to_the_list(start: Any, scene: Scene) -> None:
    terminal = start("tui")
    number = number_of("> write two", terminal.until(ASKS))
    terminal.say(number)
    terminal.until("for the list:")
    terminal.say("")
    terminal.until(ASKS)
    terminal.say(number)
    terminal.until("for the list:")
    terminal.say("1")
    terminal.until("(y/n)")
    terminal.say("perhaps")
    assert "Please answer y or n." in terminal.until("(y/n)")
    terminal.say("n")
    terminal.until(ASKS)
    terminal.say(number)
    terminal.until("for the list:")
    terminal.say("q")
    assert terminal.end()[0] == 0
    assert scene.read("two") == "two\n" and not scene.forks()


def test_an_error_is_a_sentence_and_the_list_goes_on(start: Any, scene: Scene) -> None:
    terminal = start("tui")
    terminal.say(number_of("First checkpoint", terminal.until(ASKS)))
    assert "it holds no conversation" in terminal.until("for the list:")
    terminal.say("3")
    said = terminal.until(ASKS)
    assert "error:" in said and "hint:" in said
    terminal.say("q")
    assert terminal.end()[0] == 0


def test_a_long_list_shows_its_end_and_m_shows_more(start: Any, scene: Scene) -> None:
    for number in range(25):
        scene.controller().save(f"step {number}")
    terminal = start("tui")
    listed = terminal.until(ASKS)
    assert "step 24" in listed and "> write one" not in listed and "m shows more" in listed
    terminal.say("m")
    assert "> write one" in terminal.until(ASKS)
    terminal.say("q")
    assert terminal.end()[0] == 0


def test_a_directory_without_rewind_is_offered_protection(start: Any, scene: Scene) -> None:
    shutil.rmtree(scene.cli.state.parent)
    terminal = start("tui")
    assert "not protected" in terminal.until("(y/n)")
    terminal.say("y")
    assert "First checkpoint" in terminal.until(ASKS)
    terminal.say("q")
    assert terminal.end()[0] == 0
    assert scene.cli.state.exists()


def test_the_end_of_input_ends_it(start: Any) -> None:
    terminal = start("tui")
    terminal.until(ASKS)
    os.write(terminal.fd, b"\x04")
    assert terminal.end()[0] == 0


def test_without_a_terminal_rewind_alone_is_the_help(cli: InProcess) -> None:
    result = cli.run()
    assert result.code == 0 and "usage:" in result.out


def test_without_a_terminal_tui_is_refused(cli: InProcess) -> None:
    result = cli.run("tui")
    assert result.code == 2 and "needs a terminal" in result.err
