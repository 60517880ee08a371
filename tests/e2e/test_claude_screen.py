"""Rewind beside the interactive Claude Code, on a screen."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Callable

import pytest
from claude_client import Claude
from conversation import NEXT, Conversation, Recording, contents
from mock_api import MockApi
from screen import wait_until
from scripted import claude_script, prompt
from shared import recorded_once
from stage import Stage, make_stage
from talk import prompts

from rewind_cli import PROGRAM

Play = Callable[[Recording], Conversation[Claude]]


@pytest.fixture(scope="module")
def busy(claude_program: Path, tmux: None, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """What else a person does: a shell command, a command of their own, a prompt before the answer has come,
    and Esc."""
    return recorded_once(tmp_path_factory, "busy", lambda at: record_busy(claude_program, make_stage(at)))[0]


def record_busy(program: Path, stage: Stage) -> list[Recording]:
    commands = stage.project / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "mine.md").write_text("PROMPT-MINE $ARGUMENTS\n")
    with MockApi(claude_script(stage.project)) as api, Claude(program, stage, api).open() as opened:
        client = opened.client
        told = [opened.ask(prompt("PAIR"))]
        opened.shell("echo by-hand")
        opened.screen.type("/mine now")
        wait_until(lambda: api.was_asked("PROMPT-MINE"), opened.screen.text)
        opened.settle()
        told.append(client.heard("PROMPT-MINE")[:-1])  # the command's own line comes before its text
        opened.begin(prompt("HELD"))
        opened.screen.type(prompt("QUEUED"))
        api.release()
        wait_until(lambda: api.was_asked(prompt("QUEUED")), opened.screen.text)
        opened.settle()
        told += [client.heard(prompt("HELD")), client.heard(prompt("QUEUED"))]
        api.hold()
        opened.begin("PROMPT-HELD that is taken back")
        opened.interrupt()
        api.release()
        told += [opened.ask(prompt("LATER")), opened.ask(prompt("LAST"))]
        session = opened.session
    return [Recording(stage, session, told)]


@pytest.mark.parametrize("n, kept", [
    (1, ["PAIR", "MINE", "HELD", "QUEUED", "LATER"]), (2, ["PAIR", "MINE", "HELD", "QUEUED"]),
    (3, ["PAIR", "MINE", "HELD"]), (4, ["PAIR", "MINE"]), (5, ["PAIR"])])
def test_every_way_to_say_something_is_counted_once(
        busy: Recording, play_claude: Play, n: int, kept: list[str]) -> None:
    chat = play_claude(busy)
    heard = chat.back(n).hear()
    assert heard == [*busy.before(n), NEXT]
    assert prompts(heard) == [*kept, "NEXT"]
    chat.check_untouched()


def test_a_prompt_taken_back_by_esc_is_no_turn(busy: Recording, play_claude: Play) -> None:
    chat = play_claude(busy)
    turns = chat.rewind.run("sessions", "show", chat.session, "--json").data["turns"]
    assert [t["prompt"] for t in turns if not t["active"]] == ["PROMPT-HELD that is taken back"]
    assert [t["turn"] for t in turns if t["active"]] == [1, 2, 3, 4, 5, 6]


def test_the_picker_shows_the_fork_by_its_title_and_opens_it(rewound: Recording, play_claude: Play) -> None:
    chat = play_claude(rewound)
    chat.back(1)
    with chat.client.open() as opened:
        opened.switch_to(f"[Fork] {prompt('PAIR')}")
        assert opened.ask(prompt("NEXT")) == [*rewound.before(1), NEXT]
    chat.check_untouched()


def test_the_picker_shows_a_renamed_fork_by_its_new_name(rewound: Recording, play_claude: Play) -> None:
    chat = play_claude(rewound)
    chat.rewind.ok("forks", "rename", chat.back(1).session, "Try with SQLite")
    with chat.client.open() as opened:
        opened.switch_to("Try with SQLite")
        assert opened.ask(prompt("NEXT")) == [*rewound.before(1), NEXT]
    chat.check_untouched()


def test_back_in_the_clients_shell_mode_takes_the_session_that_is_open(
        rewound: Recording, play_claude: Play, home: Path) -> None:
    chat = play_claude(rewound)
    chat.client.env["PATH"] = f"{rewind_command(home)}:{chat.client.env['PATH']}"
    chat.client.ask(prompt("ELSEWHERE"))  # a later session of the same project
    before = set(chat.path.parent.glob("*.jsonl"))
    with chat.client.open(chat.session) as opened:
        opened.shell("rewind back 2")
    fork, = before ^ set(chat.path.parent.glob("*.jsonl"))
    assert chat.other(fork.stem).hear() == [*rewound.before(2), NEXT]


def rewind_command(home: Path) -> Path:
    """A directory with the command, as an installation would have it."""
    command = home / "bin" / "rewind"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{PROGRAM}" "$@"\n')
    command.chmod(0o755)
    return command.parent


def test_in_place_is_refused_while_the_session_is_open(rewound: Recording, play_claude: Play) -> None:
    chat = play_claude(rewound)
    with chat.client.open(chat.session):
        before = contents(chat.path.parent), chat.rewind.names(backups=True)
        chat.rewind.fails(13, "back", "--in-place", "--session", chat.session)
        assert chat.rewind.fails_with_json(13, "back", "--in-place", "--session", chat.session)
        assert (contents(chat.path.parent), chat.rewind.names(backups=True)) == before
        assert not list(chat.rewind.state.glob("transcript-backup/*"))
        fork = chat.rewind.ok("back", "1", "--session", chat.session)  # a fork does no harm
        assert fork.out.startswith("Fork created: ")


@pytest.mark.parametrize("n, kept", [(1, ["PAIR", "AFTER"]), (2, ["PAIR"])])
def test_in_place_works_once_the_session_is_closed(
        rewound: Recording, play_claude: Play, n: int, kept: list[str]) -> None:
    chat = play_claude(rewound)
    with chat.client.open(chat.session):
        pass
    before = chat.path.read_bytes()
    done = chat.rewind.ok("back", str(n), "--in-place", "--session", chat.session)
    assert done.out == "Chat rewritten in-place\n"
    backup, = chat.rewind.state.glob("transcript-backup/*")
    assert backup.read_bytes() == before
    with chat.client.open(chat.session) as opened:
        heard = opened.ask(prompt("NEXT"))
    assert heard == [*rewound.before(n), NEXT]
    assert prompts(heard) == [*kept, "NEXT"]


def test_a_fork_is_resumed_on_the_screen(compacted: Recording, play_claude: Play) -> None:
    chat = play_claude(compacted)
    fork = chat.back(3)
    with chat.client.open(fork.session) as opened:
        assert opened.ask(prompt("NEXT")) == [*compacted.before(3), NEXT]
    chat.check_untouched()
