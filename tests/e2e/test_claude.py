"""What the model is told when the real Claude Code resumes what Rewind has made of a session."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest
from claude_client import Claude
from conversation import NEXT, Conversation, Recording, contents
from screen import wait_until
from scripted import PLAIN, prompt
from talk import prompts

from rewind_cli import Rewind

Play = Callable[[Recording], Conversation[Claude]]

# Clients before 2.1.162 do not heed the line that names the leaf; for them the fork is a filtered copy.
OLD = "2.1.161"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def written_by(version: str, chat: Conversation[Claude]) -> Conversation[Claude]:
    """The same conversation, as if an older client had had it."""
    chat.path.write_bytes(chat.bytes.replace(b'"version":"2.1.325"', f'"version":"{version}"'.encode()))
    assert version in chat.path.read_text()
    return chat.other(chat.session)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_fork_tells_the_model_what_was_said_before(plain: Recording, play_claude: Play, n: int) -> None:
    chat = play_claude(plain)
    heard = chat.back(n).hear()
    assert heard == [*plain.before(n), NEXT]
    assert prompts(heard) == [*PLAIN[:-n], "NEXT"]
    if n == 1:
        assert {"result left-result", "result right-result"} <= set(heard), "of parallel calls none is lost"
    chat.check_untouched()


def test_a_fork_can_be_resumed_again_and_again(plain: Recording, play_claude: Play) -> None:
    fork = play_claude(plain).back(2)
    fork.hear("SECOND")
    assert prompts(fork.hear()) == [*PLAIN[:2], "SECOND", "NEXT"]


@pytest.mark.parametrize("n, kept", [(1, ["PAIR", "AFTER"]), (2, ["PAIR"])])
def test_what_was_taken_back_in_the_client_does_not_come_back(
        rewound: Recording, play_claude: Play, n: int, kept: list[str]) -> None:
    chat = play_claude(rewound)
    fork = chat.back(n)
    assert "WRONG" in fork.path.read_text(), "it is a copy of all that was before"
    heard = fork.hear()
    assert heard == [*rewound.before(n), NEXT]
    assert prompts(heard) == [*kept, "NEXT"]
    assert fork.hear("SECOND")[:len(heard)] == heard
    chat.check_untouched()


@pytest.mark.parametrize("n, kept", [(1, ["PAIR", "AFTER"]), (2, ["PAIR"])])
def test_nor_in_a_fork_for_older_clients(
        rewound: Recording, play_claude: Play, n: int, kept: list[str]) -> None:
    chat = written_by(OLD, play_claude(rewound))
    heard = chat.back(n).hear()
    assert heard == [*rewound.before(n), NEXT]
    assert prompts(heard) == [*kept, "NEXT"]
    chat.check_untouched()


def test_a_fork_for_older_clients_leaves_out_what_was_taken_back(
        rewound: Recording, play_claude: Play) -> None:
    fork = written_by(OLD, play_claude(rewound)).back(2)
    said = [json.dumps(line["message"]) for line in lines(fork.path) if line["type"] in ("user", "assistant")]
    assert [text for text in said if "PAIR" in text]
    assert not [text for text in said if "WRONG" in text or "WORSE" in text]
    assert not [line for line in lines(fork.path) if line["type"] == "last-prompt" and line.get("explicit")]


@pytest.mark.parametrize("version", ["", OLD])
@pytest.mark.parametrize("n, kept", [(1, ["LATER"]), (2, []), (3, ["PAIR", "AFTER"]), (4, ["PAIR"])])
def test_a_fork_may_lie_on_either_side_of_a_compaction(
        compacted: Recording, play_claude: Play, n: int, kept: list[str], version: str) -> None:
    chat = play_claude(compacted)
    if version:
        chat = written_by(version, chat)
    heard = chat.back(n).hear()
    assert heard == [*compacted.before(n), NEXT]
    assert prompts(heard) == [*kept, "NEXT"]
    assert heard[0].startswith("user: This session is being continued") == (n < 3)
    chat.check_untouched()


def test_a_fork_of_a_fork(plain: Recording, play_claude: Play) -> None:
    fork = play_claude(plain).back(2)
    fork.hear("OTHER")
    again = fork.other(fork.session)
    assert again.back(1).hear() == [*plain.before(2), NEXT]
    assert again.back(2).hear() == [*plain.before(3), NEXT]
    again.check_untouched()


def test_a_fork_of_a_fork_of_a_session_rewound_in_the_client(rewound: Recording, play_claude: Play) -> None:
    fork = play_claude(rewound).back(2)
    fork.hear("OTHER")
    again = fork.other(fork.session).back(1)
    assert again.hear() == [*rewound.before(2), NEXT]


def test_a_fork_after_the_original_was_deleted(plain: Recording, play_claude: Play) -> None:
    chat = play_claude(plain)
    chat.rewind.save()
    chat.path.unlink()
    restored = chat.rewind.json("restore", "last", "--context-only")
    heard = chat.other(restored["fork"]["session_id"]).hear()
    assert prompts(heard) == [*PLAIN, "NEXT"]
    assert heard[:len(plain.told[-1])] == plain.told[-1]
    assert heard[-2:] == ["assistant: Edited.", NEXT]


def test_the_command_that_rewind_shows_resumes_the_fork(plain: Recording, play_claude: Play) -> None:
    chat = play_claude(plain)
    found = chat.back_json(1)
    assert [p["text"] for p in found["prompts"]] == [prompt("EDIT")]
    command = f"{found['fork']['resume']} -p '{prompt('NEXT')}'"
    subprocess.run(command, shell=True, check=True, cwd="/", env=chat.client.env, timeout=90,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    assert chat.client.heard(prompt("NEXT")) == [*plain.before(1), NEXT]


def test_sessions_are_found_where_the_environment_says(claude: Claude, rewind: Rewind, home: Path) -> None:
    claude.config = home / "elsewhere"
    for env in (claude.env, rewind.env):
        env["CLAUDE_CONFIG_DIR"] = str(claude.config)
    rewind.init()
    session = claude.ask(prompt("PAIR"))
    claude.ask(prompt("MORE"), session)
    fork = Conversation(claude, rewind, session).back(1)
    assert prompts(fork.hear()) == ["PAIR", "NEXT"]


@pytest.mark.parametrize("first", ["fork", "original"])
def test_a_fork_stays_a_child_whichever_goes_on_first(
        plain: Recording, play_claude: Play, first: str) -> None:
    chat = play_claude(plain)
    fork = chat.back(2)
    for one in (fork, chat) if first == "fork" else (chat, fork):
        one.hear("MORE")
        parents = {s["session_id"]: s["parentSessionId"]
                   for s in chat.rewind.run("sessions", "list", "--json").data["sessions"]}
        assert parents == {chat.session: None, fork.session: chat.session}


@pytest.fixture
def saved_between(claude: Claude, rewind: Rewind) -> tuple[Conversation[Claude], str]:
    """A turn, a checkpoint, and a turn in which a shell command makes a file."""
    rewind.init()
    session = claude.ask(prompt("WRITE"))
    saved = rewind.save()
    claude.ask(prompt("SHELL"), session)
    assert (claude.project / "made.txt").exists()
    return Conversation(claude, rewind, session), saved


def test_back_both_brings_code_and_chat_to_the_same_moment(
        saved_between: tuple[Conversation[Claude], str], project: Path) -> None:
    chat, saved = saved_between
    found = chat.back_json(1, "--both")
    assert found["code"]["checkpoint"] == saved
    assert not (project / "made.txt").exists()
    assert (project / "note.txt").read_text() == "first\n"
    assert prompts(chat.other(found["fork"]["session_id"]).hear()) == ["WRITE", "NEXT"]


def test_back_both_says_when_the_code_is_only_near_that_moment(
        saved_between: tuple[Conversation[Claude], str]) -> None:
    chat, saved = saved_between
    code = chat.back_json(1, "--both", "--dry-run")["code"]
    assert (code["checkpoint"], code["exact"]) == (saved, False)
    done = chat.rewind.ok("back", "1", "--both", "--session", chat.session)
    assert saved in done.err


def test_restore_brings_code_and_a_fork_and_undo_restore_takes_both_back(
        saved_between: tuple[Conversation[Claude], str], project: Path) -> None:
    chat, saved = saved_between
    fork = chat.other(chat.rewind.json("restore", saved)["fork"]["session_id"])
    assert not (project / "made.txt").exists()
    chat.rewind.ok("undo-restore")
    assert (project / "made.txt").exists()
    assert not fork.path.exists(), "nobody has continued it"
    chat.check_untouched()


def test_undo_restore_keeps_a_fork_that_was_continued(
        saved_between: tuple[Conversation[Claude], str]) -> None:
    chat, saved = saved_between
    fork = chat.other(chat.rewind.json("restore", saved)["fork"]["session_id"])
    assert prompts(fork.hear()) == ["WRITE", "NEXT"]
    chat.rewind.ok("undo-restore")
    assert prompts(fork.hear("SECOND")) == ["WRITE", "NEXT", "SECOND"]


def test_in_place_is_refused_while_a_client_works_on_the_session(plain: Recording, play_claude: Play) -> None:
    chat = play_claude(plain)
    with chat.client.asking(prompt("HELD"), chat.session) as process:
        wait_until(lambda: chat.client.api.was_asked(prompt("HELD")), lambda: "no request")
        chat.rewind.fails(13, "back", "--in-place", "--session", chat.session)
        assert contents(chat.path.parent).keys() == {chat.path.name}
        assert chat.path.read_bytes().startswith(chat.bytes), "the client may have added to it"
        chat.client.api.release()
        process.communicate(timeout=90)
    assert prompts(chat.hear()) == [*PLAIN, "HELD", "NEXT"]


def test_before_the_first_prompt_rewind_says_what_to_do_instead(plain: Recording, play_claude: Play) -> None:
    chat = play_claude(plain)
    before = contents(chat.path.parent)
    done = chat.rewind.run("back", "4", "--session", chat.session)
    assert done.code != 0
    assert "new session" in done.err
    assert contents(chat.path.parent) == before


@pytest.mark.parametrize("n, code", [("0", 2), ("-1", 2), ("5", 12)])
def test_a_number_that_cannot_be_gone_back(plain: Recording, play_claude: Play, n: str, code: int) -> None:
    chat = play_claude(plain)
    before = contents(chat.path.parent)
    chat.rewind.fails(code, "back", n, "--session", chat.session)
    assert contents(chat.path.parent) == before
