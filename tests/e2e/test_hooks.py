"""Installed by its own script beside foreign hooks, Rewind protects what the real clients do."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Union

import pytest
from claude_client import Claude
from droid_client import Droid
from installed import Installed, state
from mock_api import MockApi
from scripted import prompt
from stage import Stage, make_repository
from talk import prompts

from rewind_cli import clean_env

FOREIGN = """{
    "permissions": {"allow": ["Bash(ls:*)"]},
\t"hooks": {
      "Stop": [ { "hooks": [{"type": "command", "command": "echo stopped >> $HOME/foreign.log"}] } ]
    },  "model": "mock" }"""


def check_turns(rewind: Installed, client: Union[Claude, Droid], session: str,
                states: list[dict[str, str]], told: list[list[str]]) -> None:
    """Each step back, files and conversation to the same moment, and forward again."""
    project = rewind.stage.project
    for n in (1, 2):
        back = rewind.json("back", str(n), "--both", "--session", session)
        assert back["code"]["exact"], back
        assert state(project) == states[-1 - n]
        fork = back["fork"]["session_id"]
        heard = client.hear(fork, prompt("NEXT"))
        assert heard[:-1] == told[-n][:-1]
        assert prompts(heard)[-1] == "NEXT"
        rewind("undo-restore", "--force")
        assert state(project) == states[-1]
        # What was said in it keeps it.
        assert client.transcript(fork).exists()
    fresh = rewind.json("back", "1", "--both", "--session", session)["fork"]["path"]
    rewind("undo-restore")
    assert not Path(fresh).exists() and state(project) == states[-1]
    rewind("redo")
    assert Path(fresh).exists() and state(project) == states[-2]
    rewind("undo-restore")
    assert rewind.json("validate", "--deep")["ok"]


def test_claude_code_is_protected_from_the_first_prompt_on(claude: Claude, stage: Stage) -> None:
    settings = stage.home / ".claude" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(FOREIGN)
    rewind = Installed(stage, "claude")
    assert "smart-checkpoint" in settings.read_text()

    session, told, states = "", [], [state(stage.project)]
    for name in ("WRITE", "SHELL", "EDIT"):
        session = claude.ask(prompt(name), session)
        told.append(claude.heard(prompt(name)))
        states.append(state(stage.project))
    assert states[-1] == {"README": "A project.\n", "note.txt": "second\n", "made.txt": "by-shell\n"}

    made = rewind.made_for()
    assert made.count("UserPromptSubmit") == made.count("Stop") == 3 and made[0] == "SessionStart"
    assert (stage.home / "foreign.log").read_text() == "stopped\n" * 3, "foreign hooks still run"
    check_turns(rewind, claude, session, states, told)

    before = settings.read_text()
    rewind("uninstall", "--yes")
    # The client may have written it meanwhile; else it is as it was, to the byte.
    assert settings.read_text() == FOREIGN or (before != FOREIGN and json.loads(settings.read_text())
                                               == json.loads(FOREIGN))
    assert not (stage.home / ".rewind" / "system").exists()
    assert not (stage.home / ".local" / "bin" / "rewind").exists()
    claude.ask(prompt("PAIR"), session)


def test_a_session_resumed_in_another_directory_is_known_before_anything_is_said_there(
        claude: Claude, stage: Stage, claude_program: Path, claude_api: MockApi, tmux: None) -> None:
    """Its SessionStart names a transcript that does not exist.

    The client's own rewind writes nothing until the next prompt.
    """
    rewind = Installed(stage, "claude")
    session = claude.ask(prompt("PAIR"))
    claude.ask(prompt("MORE"), session)
    other = Stage(stage.home, stage.project.with_name("other"))
    other.project.mkdir()
    make_repository(other)

    def taken_back() -> list[str]:
        found = rewind.json("back", "1", "--dry-run", "-C", str(other.project))
        assert found["session"] == session
        return [one["text"] for one in found["prompts"]]

    with Claude(claude_program, other, claude_api).open(session) as opened:
        rewind.wait_until_protected(other.project)
        assert taken_back() == [prompt("MORE")]
        opened.rewind_before(prompt("MORE"))
        assert taken_back() == [prompt("MORE")]
        opened.ask(prompt("AFTER"))
        assert taken_back() == [prompt("AFTER")]


def test_the_guard_keeps_claude_code_from_the_checkpoints(claude: Claude, stage: Stage) -> None:
    rewind = Installed(stage, "claude")
    claude.ask(prompt("WRITE"))
    session = claude.ask(prompt("HARM"))
    assert rewind.json("validate", "--deep")["ok"]
    assert "Rewind blocks this" in claude.transcript(session).read_text(), "the agent is told why"


def test_droid_is_protected_from_the_first_prompt_on(droid: Droid, stage: Stage) -> None:
    settings = stage.home / ".factory" / "settings.json"
    before = settings.read_text()
    rewind = Installed(stage, "droid")
    told, states = [], [state(stage.project)]
    with droid.open() as opened:
        for name in ("WRITE", "SHELL", "EDIT"):
            told.append(opened.ask(prompt(name)))
            states.append(state(stage.project))
        session = opened.session
    assert states[-1]["note.txt"].startswith("second") and "made.txt" in states[-1]
    made = rewind.made_for()
    assert made.count("UserPromptSubmit") == made.count("Stop") == 3 and made[0] == "SessionStart"
    check_turns(rewind, droid, session, states, told)
    rewind("uninstall", "--yes")
    assert settings.read_text() == before or json.loads(settings.read_text()) == json.loads(before)


@pytest.mark.parametrize("action", ["session-start", "stop"])
def test_the_shim_is_silent_about_garbage(stage: Stage, claude: Claude, action: str) -> None:
    Installed(stage, "claude")
    done = subprocess.run([str(stage.home / ".rewind" / "system" / "smart-checkpoint"), action],
                          input=b"\xff{", capture_output=True, env=clean_env(stage.home), timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
