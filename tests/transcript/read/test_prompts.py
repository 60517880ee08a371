"""Which of Claude Code's lines a person wrote."""

from __future__ import annotations

from typing import Any

import pytest

from rewind.agents.profile import pick
from rewind.agents.registry import profile_named
from rewind.transcript.read.prompts import IF_ANSWERED, NO, YES, kind_of_prompt, prompt_text

pytestmark = pytest.mark.usefixtures("home")

# What the client writes into a person's mouth, and people paste when they ask about it.
MACHINE = [
    "<bash-stdout>npm ERR! fix this</bash-stdout>", "<bash-stderr>x", "<bash-input>ls</bash-input>",
    "<local-command-stdout>x</local-command-stdout>", "<local-command-stderr>x", "<local-command-caveat>x",
    "<task-notification>\n<task-id>a</task-id>", "<agent-notification>x", "<teammate-message id=1>x",
    "<user-memory-input>always use tabs</user-memory-input>", "Stop hook feedback: tests fail",
    "Operation stopped by hook: no", "This session is being continued from a previous conversation",
    "[Request interrupted by user for tool use]", "Caveat: The messages below were generated",
    "Base directory for this skill: /x", "(no content)", "/compact",
]
TYPED = [{"origin": {"kind": "human"}, "promptSource": "typed"}, {"origin": {"kind": "human"}},
         {"promptSource": "typed"}, {"promptSource": "queued"}, {"promptSource": "sdk"}]


def kind(content: Any, **fields: Any) -> int:
    line = {"type": "user", "isSidechain": False, "message": {"role": "user", "content": content}, **fields}
    return kind_of_prompt(line, profile_named("claude"))


@pytest.mark.parametrize("text", MACHINE)
def test_what_the_client_wrote_is_no_prompt(text: str) -> None:
    assert kind(text) == NO
    assert kind([{"type": "text", "text": text}]) == NO


@pytest.mark.parametrize("fields", TYPED, ids=str)
@pytest.mark.parametrize("text", MACHINE)
def test_the_same_words_are_a_prompt_when_the_line_says_that_a_person_wrote_them(
        text: str, fields: dict[str, Any]) -> None:
    assert kind(text, **fields) == YES
    line = {"type": "user", "message": {"content": text}, **fields}
    assert prompt_text(line, profile_named("claude")) == text


@pytest.mark.parametrize("fields", [
    {"isMeta": True}, {"isCompactSummary": True}, {"isSidechain": True}, {"toolUseResult": "x"},
    {"origin": {"kind": "task-notification"}}, {"promptSource": "system"}], ids=str)
def test_a_line_that_says_otherwise_is_never_a_prompt(fields: dict[str, Any]) -> None:
    assert kind("fix the bug", **{"promptSource": "typed", **fields}) == NO


@pytest.mark.parametrize("fields", [{}, *TYPED], ids=str)
def test_what_the_client_put_in_front_of_a_prompt_is_taken_off(fields: dict[str, Any]) -> None:
    line = {"type": "user", "message": {"content": "<system-reminder>x</system-reminder>\nfix it"}, **fields}
    assert prompt_text(line, profile_named("claude")) == "fix it"


def test_a_person_may_paste_nothing_but_what_the_client_puts_in_front() -> None:
    text = "<system-reminder>what is this?</system-reminder>"
    assert kind(text) == NO
    line = {"type": "user", "message": {"content": text}, "origin": {"kind": "human"}}
    assert kind(text, origin=pick(line, "origin")) == YES
    assert prompt_text(line, profile_named("claude")) == text


def test_nothing_at_all_is_no_prompt_whoever_wrote_it() -> None:
    assert kind(" \n", origin={"kind": "human"}) == NO
    assert kind([], origin={"kind": "human"}) == NO


def test_a_slash_command_counts_by_who_gave_it_else_by_its_answer() -> None:
    text = "<command-name>/mycmd</command-name>"
    assert kind(text, origin={"kind": "human"}) == YES
    assert kind(text) == kind(text, promptSource="sdk") == IF_ANSWERED
