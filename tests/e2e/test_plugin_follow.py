"""The client's own rewind brings the files along, when the person wants it."""

from __future__ import annotations

import json
import time

import pytest
from claude_client import Claude
from inside import Inside, inside
from installed import Installed, state
from screen import wait_until
from scripted import prompt
from stage import Stage

QUESTION = "Bring the files along?"


@pytest.fixture
def rewind(stage: Stage, claude: Claude, tmux: None) -> Installed:
    return Installed(stage, "claude")


def rewind_in_client(found: Inside, rows: int, choice: str = "Restore conversation") -> None:
    """Esc Esc, so many rows up, and one of the client's choices."""
    found.opened.settle()
    found.screen.press("Escape", "Escape")
    found.screen.wait("❯ (current)")
    for _ in range(rows):
        found.screen.press("Up")
    found.screen.press("Enter")
    found.screen.wait("1. Restore")
    line = next(line for line in found.screen.text().splitlines() if line.strip(" ❯")[3:].startswith(choice))
    found.screen.press(line.strip("❯ ")[0])


def answer(found: Inside, label: str) -> str:
    """Answer the question with this label; what the question was."""
    found.screen.wait(QUESTION)
    found.screen.wait(label)
    asked = found.screen.text()
    key = next(line for line in asked.splitlines() if label in line).strip("❯ ")[0]
    for _ in range(5):
        # The dialog takes no key in its first moment; a second one would land in the prompt box.
        time.sleep(1)
        found.screen.press(key)
        time.sleep(1)
        if QUESTION not in found.screen.text():
            return asked
    raise AssertionError(found.screen.text())


def settled(found: Inside) -> None:
    wait_until(lambda: QUESTION not in found.screen.text(), found.screen.text)
    found.opened.settle()


def test_the_files_follow_on_a_yes(claude: Claude, rewind: Installed) -> None:
    with inside(claude) as found:
        found.ask("WRITE", "SHELL", "EDIT")
        session = found.session
        rewind_in_client(found, 2)
        asked = answer(found, "1. Yes")
        assert f"{QUESTION} 1 written, 1 deleted (Bash made 1 of them)" in asked
        wait_until(lambda: state(found.project) == found.states[1], found.screen.text)
        settled(found)
        assert found.session == session and found.box() == prompt("SHELL")
        assert found.hear() == found.before("SHELL")
        assert "Bring the files" not in found.transcript().read_text()


def test_the_client_restores_its_own_part_and_rewind_the_rest(claude: Claude, rewind: Installed) -> None:
    with inside(claude) as found:
        found.ask("WRITE", "SHELL", "EDIT")
        rewind_in_client(found, 2, "Restore code and conversation")
        assert f"{QUESTION} 1 deleted (Bash made 1 of them)" in answer(found, "1. Yes")
        wait_until(lambda: state(found.project) == found.states[1], found.screen.text)
        settled(found)


def test_they_stay_on_a_no_and_goback_counts_right_afterwards(claude: Claude, rewind: Installed) -> None:
    with inside(claude) as found:
        found.ask("WRITE", "SHELL", "EDIT")
        rewind_in_client(found, 2)
        answer(found, "2. No")
        settled(found)
        assert state(found.project) == found.states[3] and rewind.json("ops")["operations"] == []
        found.empty_box()
        found.goback()  # the prompt before those that the client took back
        assert found.box() == prompt("WRITE") and state(found.project) == found.states[0]


def test_always_is_remembered(claude: Claude, rewind: Installed) -> None:
    with inside(claude) as found:
        found.ask("WRITE", "SHELL")
        rewind_in_client(found, 1)
        answer(found, "3. Always")
        wait_until(lambda: state(found.project) == found.states[1], found.screen.text)
        settled(found)
        config = json.loads((claude.home / ".rewind" / "config.json").read_text())
        assert config["plugin"]["followRewind"] == "always"
        found.empty_box()
        found.opened.ask("PROMPT-SHELL again")
        assert state(found.project) == found.states[2]
        rewind_in_client(found, 1)
        wait_until(lambda: state(found.project) == found.states[1], found.screen.text)
        assert QUESTION not in found.screen.text()


def test_compaction_clear_and_resume_are_no_rewind(claude: Claude, rewind: Installed) -> None:
    with inside(claude) as found:
        found.ask("WRITE", "SHELL")
        session = found.session
        found.opened.compact()
        found.ask("LATER")
        found.screen.type("/clear")
        wait_until(lambda: found.session not in ("", session), found.screen.text)
        found.opened.settle()
        found.ask("LAST")
        found.screen.type(f"/resume {session}")
        wait_until(lambda: found.session == session, found.screen.text)
        found.opened.settle()
        found.ask("NEXT")
        assert QUESTION not in found.screen.text() and rewind.json("ops")["operations"] == []
        assert state(found.project) == found.states[2]
