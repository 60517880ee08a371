"""/goback, /goforward and /timeline in the real Claude Code, on its screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from claude_client import Claude
from inside import Inside, check_no_trace, inside
from installed import Installed, state
from mock_api import last_prompt
from screen import wait_until
from scripted import prompt
from stage import Stage


@pytest.fixture
def rewind(stage: Stage, claude: Claude, tmux: None) -> Installed:
    return Installed(stage, "claude")


@pytest.fixture
def three_turns(claude: Claude, rewind: Installed) -> Iterator[Inside]:
    with inside(claude) as found:
        found.ask("WRITE", "SHELL", "EDIT")
        assert found.states[-1].keys() == {"README", "note.txt", "made.txt"}
        yield found


def test_goback_brings_back_files_and_conversation_and_goforward_undoes_it(
        three_turns: Inside, rewind: Installed) -> None:
    check_esc(three_turns, rewind)
    old, path = three_turns.session, three_turns.transcript()
    before = path.read_bytes()
    plan = three_turns.plan("/goback")
    assert "Go back to before “PROMPT-EDIT please”?" in plan and "1 written" in plan and "~ note.txt" in plan
    fork = three_turns.agree()
    assert fork != old and state(three_turns.project) == three_turns.states[2]
    wait_until(lambda: three_turns.box() == prompt("EDIT"), three_turns.screen.text)
    check_no_trace(path, before)
    three_turns.empty_box()
    assert three_turns.goforward() == old
    assert state(three_turns.project) == three_turns.states[3]
    assert not path.with_name(f"{fork}.jsonl").exists(), "nothing was said in the fork"
    check_no_trace(path, before)
    heard, told = three_turns.hear(), three_turns.told[-1]
    assert heard[:len(told)] == told and heard[-1] == "assistant: Edited.", "the whole conversation"
    assert rewind.json("validate", "--deep")["ok"]


def test_the_model_gets_the_history_of_the_fork(three_turns: Inside) -> None:
    path = three_turns.transcript()
    before = path.read_bytes()
    three_turns.goback("2")
    assert three_turns.box() == prompt("SHELL") and state(three_turns.project) == three_turns.states[1]
    assert three_turns.hear() == three_turns.before("SHELL")
    check_no_trace(path, before)


def test_goback_of_the_conversation_alone(three_turns: Inside) -> None:
    three_turns.plan("/goback --chat", "The files stay as they are.")
    three_turns.agree()
    assert state(three_turns.project) == three_turns.states[3]
    assert three_turns.hear() == three_turns.before("EDIT")


def check_esc(three_turns: Inside, rewind: Installed) -> None:
    """It leaves everything as it is."""
    session, path = three_turns.session, three_turns.transcript()
    before = path.read_bytes()
    three_turns.plan("/goback 3")
    three_turns.screen.press("Escape")
    wait_until(lambda: "[ Go back ]" not in three_turns.screen.text(), three_turns.screen.text)
    three_turns.opened.settle()
    assert three_turns.session == session and state(three_turns.project) == three_turns.states[3]
    assert rewind.json("ops")["operations"] == []
    check_no_trace(path, before)


def test_the_timeline_goes_to_a_turn(three_turns: Inside) -> None:
    session = three_turns.session
    shown = three_turns.plan("/timeline", "PROMPT-SHELL please +1 −0 in 1 file")
    assert "PROMPT-EDIT please +1 −1 in 1 file ◀ here" in shown
    three_turns.screen.press("s", "h", "e", "l", "l")
    wait_until(lambda: "3 PROMPT-EDIT" not in three_turns.screen.text(), three_turns.screen.text)
    three_turns.screen.press("Enter")
    three_turns.screen.wait("[ Go back ]")
    assert "-by-shell" in three_turns.screen.text(), "the plan has a diff"
    assert three_turns.agree() != session
    wait_until(lambda: three_turns.box() == prompt("SHELL"), three_turns.screen.text)
    assert state(three_turns.project) == three_turns.states[1]
    assert three_turns.hear() == three_turns.before("SHELL")


def test_before_the_first_prompt_an_empty_conversation_begins(claude: Claude, rewind: Installed) -> None:
    with inside(claude) as found:
        found.ask("WRITE")
        old = found.session
        found.goback()
        assert found.box() == prompt("WRITE") and state(found.project) == found.states[0]
        found.empty_box()
        assert found.goforward() == old and state(found.project) == found.states[1]


def test_goback_is_refused_while_a_turn_runs_and_works_right_after_esc(
        claude: Claude, rewind: Installed) -> None:
    with inside(claude) as found:
        found.ask("WRITE")
        session = found.session
        found.opened.begin(prompt("HELD"))
        found.screen.type("/goback")
        found.screen.wait("A turn is running")
        assert state(found.project) == found.states[1]
        claude.api.release()
        found.opened.settle()
        assert found.session == session and "[ Go back ]" not in found.screen.text()

        claude.api.hold()
        found.opened.begin(prompt("STUCK"))
        wait_until((found.project / "half.txt").exists, found.screen.text)
        wait_until(lambda: is_in_the_middle(claude, prompt("STUCK")), found.screen.text)
        found.screen.press("Escape")
        found.screen.wait("Interrupted")
        found.goback()
        assert found.box() == prompt("STUCK") and state(found.project) == found.states[1]
        claude.api.release()


def is_in_the_middle(claude: Claude, text: str) -> bool:
    """Whether the model has got the results of what it did at this prompt."""
    told = [last_prompt(body["messages"]) for body in list(claude.api.requests) if body.get("tools")]
    return any(text in said and answers == 1 for said, answers in told)


def test_goback_over_a_compaction(claude: Claude, rewind: Installed) -> None:
    with inside(claude) as found:
        found.ask("WRITE", "SHELL")
        found.opened.compact()
        found.ask("LATER")
        found.goback("2")
        assert found.box() == prompt("SHELL") and state(found.project) == found.states[1]
        assert found.hear() == found.before("SHELL")


@pytest.mark.parametrize("options, keys, mode", [
    ([], ["BTab"], "plan mode on"), (["--permission-mode", "default"], [], "manual mode on")])
def test_goback_works_in_every_mode_and_keeps_it(
        claude: Claude, rewind: Installed, options: list[str], keys: list[str], mode: str) -> None:
    with inside(claude, *options) as found:
        found.ask("WRITE", "SHELL")
        found.screen.press(*keys)
        found.screen.wait(mode)
        found.goback()
        assert mode in found.screen.text() and state(found.project) == found.states[1]


def test_a_session_that_was_continued(claude: Claude, rewind: Installed, project: Path) -> None:
    with inside(claude) as found:
        found.ask("WRITE", "SHELL")
        session, states = found.session, found.states
    with inside(claude, "--continue") as found:
        assert found.session == session
        found.goback()
        assert found.box() == prompt("SHELL") and state(project) == states[1]
