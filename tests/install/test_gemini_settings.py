"""Rewind's hooks in Gemini CLI's settings.json: comments and key order stay, and out again to the byte. And
whether the folder is one in which it runs hooks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compiled_once import preinstall_library
from install_scene import Machine
from rewind.agents.registry import profile_named
from rewind.agents.trust import is_trusted
from rewind.config.load import load_tier
from rewind.errors import SettingsUnreadable
from rewind.install.agent_settings.comments import take_out
from rewind.install.agent_settings.register import register, registered, unregister

SHIM = "/home/dev/my rewind/system/smart-checkpoint"
TEXTS = [
    '{\n  // who\n  "security": {"auth": {"selectedType": "x"}}, /* and */\n  "ui": {} // last\n}\n// end\n',
    '// mine\n{"hooks": { // of others\n  "AfterAgent": [ {"hooks": [{"command": "say // \\"no\\"", "type":'
    ' "command"}]} /* one */ ]\n} }',
    '{"hooks": {}}\n', "{}", '{\r\n\t"hooks": {"BeforeTool": [ ] }\r\n}', '{"url": "http://x//y", "a": 1}',
    '{\n  "hooks": {\n    // nothing yet\n    "AfterAgent": []\n  }\n}\n',
    '/* a\n b */ {\n "z": 1,\n "hooks": {"Notification": [{"hooks": []}]}, // c\n "a": [1, 2] }']


@pytest.fixture
def settings(home: Path) -> Path:
    (home / ".gemini").mkdir()
    return home / ".gemini" / "settings.json"


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("tier", ["minimal", "balanced", "aggressive"])
def test_comments_and_foreign_hooks_stay_and_the_file_comes_back_to_the_byte(
        settings: Path, text: str, tier: str) -> None:
    settings.write_bytes(text.encode())
    gemini = profile_named("gemini")
    assert register(gemini, load_tier(tier), SHIM) == [str(settings)]
    plain, comments = take_out(settings.read_bytes().decode(), "x")
    was, old = take_out(text, "x")
    assert comments == old and all(comment in settings.read_bytes().decode() for comment in comments)
    before, now = json.loads(was), json.loads(plain)
    assert [key for key in now if key in before] == list(before)
    for event, groups in before.get("hooks", {}).items():
        assert now["hooks"][event][:len(groups)] == groups
    assert len(registered(gemini)) >= 1
    assert not register(gemini, load_tier(tier), SHIM), "once is enough"
    assert unregister(gemini) == [str(settings)]
    assert settings.read_bytes() == text.encode()


def test_events_and_timeouts_are_geminis(settings: Path) -> None:
    gemini = profile_named("gemini")
    register(gemini, load_tier("balanced"), SHIM)
    found = json.loads(settings.read_text())["hooks"]
    assert set(found) == {"SessionStart", "SessionEnd", "BeforeAgent", "BeforeTool", "AfterTool",
                          "AfterAgent"}
    assert [group["matcher"] for group in found["BeforeTool"]] == ["write_file|replace", "run_shell_command"]
    hook = found["BeforeAgent"][0]["hooks"][0]
    assert hook["timeout"] == 15000 and hook["name"] == "rewind"
    assert hook["command"] == f"'{SHIM}' user-prompt-submit"
    assert unregister(gemini) == [str(settings)] and not settings.exists()


@pytest.mark.parametrize("text", ['{"hooks": { /* none */ }}', '{ // empty\n}', '{"a": 1,}', "// only this"])
def test_a_file_in_which_a_comment_would_be_lost_is_left_alone(settings: Path, text: str) -> None:
    settings.write_text(text)
    gemini = profile_named("gemini")
    try:
        register(gemini, load_tier("balanced"), SHIM)
    except SettingsUnreadable:
        pass
    else:
        unregister(gemini)
    assert settings.read_text() == text


def test_comments_that_came_later_stay_when_the_hooks_go(settings: Path) -> None:
    gemini = profile_named("gemini")
    register(gemini, load_tier("minimal"), SHIM)
    settings.write_text("// mine\n" + settings.read_text())
    unregister(gemini)
    assert settings.read_text() == "// mine\n{}\n"


# trust

@pytest.mark.parametrize("rules, trusted", [
    ({}, False), ({"{root}": "TRUST_FOLDER"}, True), ({"{root}": "DO_NOT_TRUST"}, False),
    ({"{top}": "TRUST_FOLDER"}, True), ({"{root}/sub": "TRUST_PARENT"}, True),
    ({"{top}": "TRUST_FOLDER", "{root}": "DO_NOT_TRUST"}, False),
    ({"{root}": 7, "x": "TRUST_FOLDER"}, False), ({"{root}x": "TRUST_FOLDER"}, False)])
def test_a_folder_is_trusted_by_the_longest_rule(
        settings: Path, tmp_path: Path, rules: dict[str, object], trusted: bool) -> None:
    root = tmp_path / "a" / "b"
    root.mkdir(parents=True)
    found = {path.replace("{root}", str(root)).replace("{top}", str(root.parent)): rule
             for path, rule in rules.items()}
    settings.with_name("trustedFolders.json").write_text(json.dumps(found))
    gemini = profile_named("gemini")
    assert is_trusted(gemini, str(root), {}) is trusted
    assert is_trusted(gemini, str(root), {"GEMINI_CLI_TRUST_WORKSPACE": "true"})
    settings.write_text('{"security": {"folderTrust": {"enabled": false}}} // off')
    assert is_trusted(gemini, str(root), {})
    assert is_trusted(profile_named("claude"), str(root), {})


@pytest.mark.slow
def test_doctor_says_where_no_hook_runs(tmp_path: Path, ready_library: Path) -> None:
    machine = Machine(tmp_path)
    preinstall_library(ready_library, machine.home)
    (machine.home / ".gemini").mkdir()
    machine.installed("--yes")
    assert "smart-checkpoint" in (machine.home / ".gemini" / "settings.json").read_text()
    project = tmp_path / "project"
    project.mkdir()
    assert machine.rewind("init", cwd=project).code == 0
    told = machine.rewind("doctor", cwd=project).out
    assert "Gemini CLI runs no hooks here" in told and "choose to trust it" in told
    rules = {str(project): "TRUST_FOLDER"}
    (machine.home / ".gemini" / "trustedFolders.json").write_text(json.dumps(rules))
    assert "Gemini CLI calls Rewind" in machine.rewind("doctor", cwd=project).out
