from __future__ import annotations

import os
from typing import Any

import pytest

import rewind.config.load
from rewind.config.load import load_tier
from rewind.config.settings import BY_KEY

TIERS = BY_KEY["tier"].choices
ACTIONS = {
    "SessionStart": "session-start",
    "SessionEnd": "session-end",
    "UserPromptSubmit": "user-prompt-submit",
    "PreToolUse": "pre-tool-use",
    "PostToolUse": "post-tool-use",
    "Stop": "stop",
}


def entries(tier: str) -> list[tuple[str, dict[str, Any]]]:
    return [(event, entry) for event, group in load_tier(tier)["hooks"].items() for entry in group]


def checkpoints(tier: str) -> set[tuple[str, str]]:
    return {(event, entry.get("tools", "")) for event, entry in entries(tier)
            if entry["checkpoint"]}


def test_every_tier_file_can_be_chosen_and_every_choice_has_a_file() -> None:
    folder = os.path.join(os.path.dirname(rewind.config.load.__file__), "tiers")
    assert sorted(os.listdir(folder)) == sorted(f"{tier}.json" for tier in TIERS)


@pytest.mark.parametrize("tier", TIERS)
def test_a_tier_names_itself_and_holds_the_four_fields(tier: str) -> None:
    data = load_tier(tier)
    assert list(data) == ["tier", "description", "runtime", "hooks"]
    assert data["tier"] == tier and data["description"].endswith(".")


@pytest.mark.parametrize("tier", TIERS)
def test_a_tiers_values_are_valid_and_complete(tier: str) -> None:
    runtime = load_tier(tier)["runtime"]
    flat = {f"runtime.{group}.{name}": value
            for group, values in runtime.items() for name, value in values.items()}
    assert flat.keys() == {key for key in BY_KEY if key.startswith("runtime.")}
    assert [BY_KEY[key].problem(value, project=True) for key, value in flat.items()] == [""] * 4


def test_the_tiers_differ_in_anti_spam_as_designed() -> None:
    spam = {tier: load_tier(tier)["runtime"]["antiSpam"] for tier in TIERS}
    assert spam["minimal"]["enabled"] is False
    assert spam["balanced"] == {"enabled": True, "minIntervalSeconds": 30}
    assert spam["aggressive"] == {"enabled": True, "minIntervalSeconds": 15}


@pytest.mark.parametrize("tier", TIERS)
def test_only_classic_events_are_registered_with_their_action_and_a_timeout(tier: str) -> None:
    for event, entry in entries(tier):
        assert entry["action"] == ACTIONS[event]
        # A hook gives up the lock after 2 s and hands long work over after 10 s; the agent's
        # timeout must not strike before that.
        assert entry["timeout"] > 12 if entry["checkpoint"] else entry["timeout"] >= 5
        assert ("tools" in entry) == event.endswith("ToolUse")
        assert entry.get("tools", "edit") in ("edit", "shell")


def test_minimal_registers_the_session_start_alone() -> None:
    assert checkpoints("minimal") == {("SessionStart", "")}
    assert len(entries("minimal")) == 1


def test_balanced_guards_shell_commands_without_a_checkpoint() -> None:
    assert load_tier("balanced")["hooks"].keys() == ACTIONS.keys()
    assert checkpoints("balanced") == {("SessionStart", ""), ("UserPromptSubmit", ""),
                                       ("PreToolUse", "edit"), ("Stop", "")}
    assert {"edit", "shell"} == {entry["tools"] for event, entry in entries("balanced")
                                 if event == "PreToolUse"}


def test_aggressive_adds_checkpoints_before_and_after_shell_commands() -> None:
    assert checkpoints("aggressive") - checkpoints("balanced") == {
        ("PreToolUse", "shell"), ("PostToolUse", "shell")}
    assert load_tier("aggressive")["hooks"].keys() == load_tier("balanced")["hooks"].keys()
