"""The numbered list, driven as a person does: through a terminal, line by line."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import struct
import termios
from collections.abc import Iterator
from typing import Any, Optional

import pytest

from at_terminal import Terminal
from chat_scene import Scene, client_is_running
from cli.conftest import InProcess

ASKS = "q to quit:"



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
    found = re.search(rf"^ *(t?\d+) .*{re.escape(text)}", listed, re.M)
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
    assert "'.[ui]'" in terminal.until(ASKS)
    terminal.say("q")
    assert terminal.end()[0] == 0


def test_jump_by_number_restores_code_and_forks_the_chat(start: Any, scene: Scene) -> None:
    terminal = start("tui", "--plain")
    terminal.say(number_of("> write two", terminal.until(ASKS)))
    assert "Jump: code + conversation" in terminal.until("for the list:")
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
    assert result.code == 2 and "needs an interactive terminal" in result.err


# left, and interrupted

@pytest.mark.parametrize("at", ["list", "intent", "plan"])
@pytest.mark.parametrize("how", ["q", "end of input", "ctrl-c"])
def test_each_question_can_be_left_in_each_way(start: Any, scene: Scene, at: str, how: str) -> None:
    terminal = start("tui")
    number = number_of("> write two", terminal.until(ASKS))
    if at != "list":
        terminal.say(number)
        terminal.until("for the list:")
    if at == "plan":
        terminal.say("1")
        terminal.until("(y/n)")
    if how == "q":
        terminal.say("q")
        if at == "plan":  # no to the plan, and then the list again
            terminal.until(ASKS)
            terminal.say("q")
    elif how == "ctrl-c":
        terminal.interrupt()
    else:
        os.write(terminal.fd, b"\x04")
    code, text = terminal.end()
    assert code == (130 if how == "ctrl-c" else 0), text
    assert scene.read("two") == "two\n" and not scene.forks()
    assert not [name for name in scene.cli.names(backups=True) if name not in scene.cli.names()]


@pytest.mark.parametrize("answer", ["0", "007", "99999999999999999999", "-1", "1.5", "²"])
def test_a_number_that_is_none_is_told_or_looked_for(start: Any, answer: str) -> None:
    terminal = start("tui")
    terminal.until(ASKS)
    terminal.say(answer)
    said = terminal.until(ASKS)
    assert "There is no number" in said or "Nothing matches" in said or "Go back" not in said
    terminal.say("q")
    assert terminal.end()[0] == 0


def test_a_filtered_list_has_the_same_numbers(start: Any, scene: Scene) -> None:
    terminal = start("tui")
    number = number_of("> write two", terminal.until(ASKS))
    assert scene.cli.json("show", number)["trigger"]["promptId"] == "p2"
    terminal.say("write two")
    listed = terminal.until(ASKS)
    assert number_of("> write two", listed) == number
    terminal.say(number)
    assert "Go back before the prompt: write two" in terminal.until("for the list:")
    terminal.say("2")
    terminal.until("(y/n)")
    terminal.say("y")
    assert terminal.end()[0] == 0
    assert scene.read("two") is None and scene.read("one") == "one\n"


def test_without_a_conversation_the_code_comes_back_alone(start: Any, scene: Scene) -> None:
    terminal = start("tui")
    terminal.say(number_of("First checkpoint", terminal.until(ASKS)))
    terminal.until("for the list:")
    terminal.say("1")
    assert "Only the code is restored." in terminal.until("(y/n)")
    terminal.say("y")
    code, text = terminal.end()
    assert code == 0, text
    assert scene.read("one") is None and not scene.forks()


def test_while_an_agent_works_it_is_a_sentence(start: Any, scene: Scene) -> None:
    client_is_running(scene.cli.home, scene.session, status="busy")
    scene.cli.state.joinpath("session.json").write_text(json.dumps(
        {"format": 1, "agent": "claude", "session_id": scene.session, "transcript_path": str(scene.path),
         "running": True, "pid": os.getpid(), "recent": []}))
    terminal = start("tui")
    terminal.say(number_of("> write two", terminal.until(ASKS)))
    terminal.until("for the list:")
    terminal.say("2")
    terminal.until("(y/n)")
    terminal.say("y")
    assert "middle of a turn" in terminal.until(ASKS)
    assert scene.read("two") == "two\n"
    terminal.say("q")
    assert terminal.end()[0] == 0


# the terminal itself

def test_a_terminal_that_changes_its_size_does_not_disturb(start: Any, scene: Scene) -> None:
    terminal = start("tui")
    terminal.until(ASKS)
    fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 40, 0, 0))
    terminal.say("")
    number = number_of("> write two", terminal.until(ASKS))
    terminal.say(number)
    terminal.until("for the list:")
    terminal.say("3")
    terminal.until("(y/n)")
    fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))
    terminal.say("y")
    assert terminal.end()[0] == 0
    assert scene.fork() == ["write one"]


def test_a_terminal_that_knows_no_unicode_gets_text_all_the_same(start: Any, scene: Scene) -> None:
    scene.do("schöne Grüße 語", three="three\n")
    terminal = start("tui", python=("-X", "utf8=0"), LC_ALL="C")
    listed = terminal.until(ASKS)
    assert listed.isascii() and "> sch\\xf6ne Gr\\xfc\\xdfe \\u8a9e" in listed
    terminal.say(number_of("> sch", listed))
    terminal.until("for the list:")
    terminal.say("1")
    terminal.until("(y/n)")
    terminal.say("y")
    code, text = terminal.end()
    assert code == 0, text
    assert scene.fork() == ["write one", "write two"]
