"""What is said after going back, and `Resume now?` on a terminal."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from chat_scene import client_is_running
from cli.conftest import InProcess
from cli.look.test_picker import Terminal
from map_scene import Story
from rewind.checkpoint.records.record import timestamp


@pytest.fixture
def story(cli: InProcess) -> Story:
    story = Story(cli)
    story.turn("Add a health check", a="1")
    story.turn("Please clean up the repository", a="2")
    return story


@pytest.fixture
def start(story: Story) -> Iterator[Any]:
    """On a terminal, with a client that says how it was called."""
    client = story.cli.home / "bin" / "claude"
    client.parent.mkdir()
    client.write_text("#!/bin/sh\necho \"client: $* in $(pwd)\"\n")
    client.chmod(0o755)
    opened: list[Terminal] = []

    def starting(*args: str, **more: str) -> Terminal:
        path = f"{client.parent}:{os.environ['PATH']}"
        opened.append(Terminal(story.cli, *args, **{"PATH": path, **more}))
        return opened[-1]

    yield starting
    for terminal in opened:
        terminal.close()


def test_back_is_one_sentence_with_the_prompt_in_it(story: Story) -> None:
    said = story.cli.ok("back", "1", "--both").err
    at = time.strftime("%H:%M", time.localtime(timestamp("2026-03-01T10:00:04Z")))
    assert said.startswith(f'Back to before "Please clean up the repository" (turn 2, {at})\n')


def test_on_a_terminal_the_client_is_started(start: Any, story: Story) -> None:
    terminal = start("back", "1", "--both")
    terminal.until("Resume now? [Y/n]")
    terminal.say("")
    code, text = terminal.end()
    fork = story.forks()[0].stem
    assert code == 0 and f"client: --resume {fork} in {os.path.realpath(story.cli.project)}" in text


def test_no_means_no(start: Any) -> None:
    terminal = start("restore", "t2")
    assert "Reload your agent session." in terminal.until("Resume now? [Y/n]")
    terminal.say("n")
    code, text = terminal.end()
    assert code == 0 and "client:" not in text


@pytest.mark.parametrize("args", [("back", "--no-resume"), ("back", "--json"), ("back", "--quiet"),
                                  ("restore", "t2", "--code-only"), ("back", "--dry-run"), ("undo",)])
def test_nobody_is_asked_where_there_is_nothing_to_ask(start: Any, args: tuple[str, ...]) -> None:
    code, text = start(*args).end()
    assert code == 0 and "Resume now" not in text


def test_under_an_agent_nobody_is_asked(start: Any) -> None:
    code, text = start("back", CLAUDECODE="1").end()
    assert code == 0 and "Resume now" not in text


def test_without_the_client_nobody_is_asked(start: Any) -> None:
    code, text = start("back", PATH="/usr/bin:/bin").end()
    assert code == 0 and "Resume now" not in text and "claude --resume" in text


def test_where_the_old_conversation_is_open_it_says_what_to_type_there(start: Any, story: Story) -> None:
    client_is_running(story.cli.home, story.session)
    code, text = start("back").end()
    assert code == 0 and "Resume now" not in text
    fork = story.forks()[0].stem
    assert "Claude Code still has the old conversation open. Run /exit in it, then:\n  cd " in text
    assert f"claude --resume {fork}" in text


def test_lists_call_a_fork_by_what_it_continues(story: Story) -> None:
    fork = story.cli.json("back", "1")["fork"]["session_id"]
    story.in_fork(story.forks()[0]).turn("More", b="1")
    again = story.cli.json("back", "1", "--session", fork)["fork"]["session_id"]
    text = story.cli.ok("sessions", "list").out
    assert "[Fork]" not in text and text.count("└ Add a health check · from turn 1") == 2
    assert "[Fork]" not in story.cli.ok("forks", "list").out
    titles = {one["session_id"]: one["title"] for one in story.cli.json("sessions", "list")["sessions"]}
    assert titles[again] == "[Fork] [Fork] Add a health check", "as the agent's own picker shows it"
    story.cli.ok("forks", "rename", again, "Second try")
    assert "└ Second try" in story.cli.ok("sessions", "list").out
