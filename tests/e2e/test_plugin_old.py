"""Older clients with the same installation: their hooks work, and the plugin does them no harm.

`scripts/e2e` fetches them when REWIND_E2E_OLD is 1; REWIND_E2E_OLD_CLAUDE names them, separated by colons.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from claude_client import TOOLS, Claude
from inside import Inside
from installed import Installed, state
from mock_api import MockApi
from screen import Screen, wait_until
from scripted import prompt
from stage import Stage, make_repository

PROGRAMS = [Path(name).resolve() for name in os.environ.get("REWIND_E2E_OLD_CLAUDE", "").split(":") if name]
FIRST_WITH_MODULES = (2, 1, 287)


@pytest.fixture(params=PROGRAMS, ids=lambda path: version_of(path) if path else "none")
def old(request: pytest.FixtureRequest, stage: Stage, claude_api: MockApi, tmux: None) -> Claude:
    make_repository(stage)
    return Claude(request.param, stage, claude_api)


def version_of(program: Path) -> str:
    return next((part.split("-")[1] for part in program.parts if part.startswith("claude-2")), "unknown")


def test_the_hooks_work_and_an_unknown_command_says_so(old: Claude, stage: Stage) -> None:
    rewind = Installed(stage, "claude")
    session = old.ask(prompt("WRITE"))
    states = [state(stage.project)]
    assert old.ask(prompt("SHELL"), session) == session
    made = rewind.made_for()
    assert made.count("UserPromptSubmit") == made.count("Stop") == 2
    back = rewind.json("back", "1", "--both", "--session", session)
    assert back["code"] and state(stage.project) == states[0]
    rewind("undo-restore")
    if tuple(map(int, version_of(old.program).split("."))) >= FIRST_WITH_MODULES:
        check_goback(old)
    else:
        check_unknown(old)
    assert rewind.json("validate", "--deep")["ok"]


def check_goback(old: Claude) -> None:
    with old.open() as opened:
        found = Inside(opened)
        found.ask("PAIR", "EDIT")
        found.goback()
        assert found.box() == prompt("EDIT") and state(old.project) == found.states[1]
        opened.screen.press("C-u")


def check_unknown(old: Claude) -> None:
    """Of what it does, the oldest tells nothing but what its screen shows."""
    with Screen([str(old.program), *TOOLS], old.env, old.project) as screen:
        screen.wait("accept edits on")
        assert "failed to load" not in screen.text()
        screen.type("/goback")
        wait_until(lambda: any(text in screen.text() for text in ("Unknown", "No commands")), screen.text)
