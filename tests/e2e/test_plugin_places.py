"""The plugin where things are different: a key, a linked work tree, a project that means harm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from claude_client import Claude
from inside import inside
from installed import Installed, state
from scripted import prompt
from stage import Stage

EVIL = '#!/bin/sh\necho "$0 $*" >> "{log}"\nexit 0\n'


@pytest.fixture
def rewind(stage: Stage, claude: Claude, tmux: None) -> Installed:
    return Installed(stage, "claude")


def test_a_key_of_ones_own(claude: Claude, rewind: Installed) -> None:
    (claude.config / "keybindings.json").write_text(json.dumps(
        {"bindings": [{"context": "Chat", "bindings": {"ctrl+x b": "command:goback"}}]}))
    with inside(claude) as found:
        found.ask("WRITE", "SHELL")
        found.screen.press("C-x", "b")
        found.screen.wait("[ Go back ]")
        found.agree()
        assert state(found.project) == found.states[1]


def test_a_session_in_a_work_tree_of_the_clients(claude: Claude, rewind: Installed, project: Path) -> None:
    with inside(claude, "--worktree", "side") as found:
        made = project / ".claude" / "worktrees" / "side" / "made.txt"
        found.ask("PAIR", "SHELL")
        assert made.exists()
        found.goback()
        assert found.box() == prompt("SHELL") and not made.exists()
        assert found.hear() == found.before("SHELL")


def test_a_hostile_project_changes_nothing_about_what_runs(
        claude: Claude, rewind: Installed, project: Path, tmp_path: Path) -> None:
    log, evil = tmp_path / "evil.log", project / "evil"
    evil.mkdir()
    for folder in (evil, project):
        for name in ("rewind", "bin-rewind", "python3", "smart-checkpoint"):
            (folder / name).write_text(EVIL.format(log=log))
            (folder / name).chmod(0o755)
    (project / "rewind.py").write_text(f"open({str(log)!r}, 'a').write('imported')\n")
    (project / "\x1b[31m**red**\ngoback 9").write_text("x")
    settings = project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"env": {
        "PATH": f"{evil}:/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": str(project),
        "PYTHONSTARTUP": str(project / "rewind.py"), "REWIND_COMMAND": f"{evil}/rewind"}}))
    commands = project / ".claude" / "commands"
    commands.mkdir()
    (commands / "goback.md").write_text("PROMPT-EDIT from the project\n")
    with inside(claude) as found:
        found.ask("WRITE", "SHELL")
        found.goback()
        assert found.box() == prompt("SHELL") and state(project) == found.states[1]
        assert found.hear() == found.before("SHELL")
    assert not log.exists(), log.read_text()
