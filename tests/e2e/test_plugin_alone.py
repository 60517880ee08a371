"""The plugin by `claude plugin install`: alone it is enough; beside an installation nothing is done twice."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from claude_client import Claude
from inside import inside
from installed import Installed, state
from kinds import claude_command, install_plugin, remove_plugin
from scripted import prompt
from stage import Stage

from rewind_cli import CHECKOUT, Rewind

PLUGIN = CHECKOUT / "plugin"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The client may write next to a plugin that it looks at."""
    folder = tmp_path / "rewind"
    for name in ("hooks", "tests", ".claude-plugin"):
        shutil.copytree(PLUGIN / name, folder / name)
    return folder


def test_the_client_finds_no_fault_with_it(claude: Claude, copied: Path) -> None:
    said = claude_command(claude, "plugin", "validate", str(copied))
    assert "error TS" not in said and "Validation passed" in said


def test_its_own_tests_pass(claude: Claude, copied: Path) -> None:
    assert "0 fail" in claude_command(claude, "plugin", "test", str(copied))


def test_alone_it_brings_library_hooks_and_commands(claude: Claude, rewind: Rewind, tmux: None) -> None:
    install_plugin(claude)
    with inside(claude) as found:
        found.ask("WRITE", "SHELL")
        found.goback()
        assert found.box() == prompt("SHELL") and state(found.project) == found.states[1]
        assert found.hear() == found.before("SHELL")
    assert not (claude.home / ".rewind" / "system").exists()
    made = [c["trigger"].get("event") for c in rewind.json("list")["checkpoints"]]
    assert made.count("UserPromptSubmit") == 3
    assert rewind.run("doctor", "--json").data["ok"]


@pytest.mark.parametrize("first", ["plugin", "installer"])
def test_beside_an_installation_each_event_is_handled_once(
        claude: Claude, stage: Stage, tmux: None, first: str) -> None:
    settings = claude.config / "settings.json"
    claude.config.mkdir(exist_ok=True)
    settings.write_text('{"model": "mock"}\n')
    if first == "plugin":
        install_plugin(claude)
    rewind = Installed(stage, "claude")
    if first == "installer":
        install_plugin(claude)
    with inside(claude) as found:
        found.ask("WRITE", "SHELL")
        found.goback()
        assert state(found.project) == found.states[1]
    made = rewind.made_for()
    assert made.count("UserPromptSubmit") == made.count("Stop") == 2
    checks = rewind.json("doctor")["checks"]
    assert any("claude plugin uninstall rewind@rewind" in check["fix"] for check in checks)
    remove_plugin(claude)
    rewind("uninstall", "--yes")
    left = {key: value for key, value in json.loads(settings.read_text()).items() if value}
    assert left == {"model": "mock"}
    assert not (claude.config / "skills").exists()
