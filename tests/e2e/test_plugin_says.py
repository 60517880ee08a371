"""What the plugin says unasked: one line when something is wrong, the band on request. And two clients."""

from __future__ import annotations

import subprocess
import time

import pytest
from claude_client import Claude
from inside import inside
from installed import Installed, state
from screen import wait_until
from scripted import prompt
from stage import Stage


@pytest.fixture
def rewind(stage: Stage, claude: Claude, tmux: None) -> Installed:
    return Installed(stage, "claude")


def test_nothing_is_said_when_all_is_well(claude: Claude, rewind: Installed) -> None:
    with inside(claude) as found:
        found.ask("WRITE")
        time.sleep(5)  # longer than the plugin waits before it looks
        assert "Rewind" not in found.screen.text()


def test_one_line_when_hooks_are_gone(claude: Claude, rewind: Installed) -> None:
    rewind("config", "--unregister-hooks")
    with inside(claude) as found:
        found.screen.wait("Claude Code does not call Rewind")
        found.screen.wait("rewind config --register-hooks")


def test_the_band_is_there_on_request(claude: Claude, rewind: Installed) -> None:
    rewind("config", "--global", "--set", "plugin.band=true")
    with inside(claude) as found:
        found.screen.wait("Rewind: turn 0 · ")
        found.ask("WRITE")
        found.screen.wait("Rewind: turn 1 · ")
        found.screen.wait("1 file changed")


def test_without_a_screen_it_says_where_it_works(claude: Claude, rewind: Installed) -> None:
    done = subprocess.run([str(claude.program), "-p", "/goback"], cwd=claude.project, env=claude.env,
                          text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    assert done.returncode == 2 and "/goback needs the interactive client" in done.stdout + done.stderr
    assert not claude.api.was_asked("/goback"), "the model heard of it"


def test_two_clients_with_one_session(claude: Claude, rewind: Installed) -> None:
    """There is no lock in the client: the other one keeps its conversation, and nothing is lost."""
    with inside(claude) as first:
        first.ask("WRITE", "SHELL")
        session, path = first.session, first.transcript()
        with claude.open_beside(session) as other:
            other.wait("PROMPT-SHELL please")
            time.sleep(3)
            other.type("/goback")
            other.wait("[ Go back ]")
            other.press("Enter")
            wait_until(lambda: state(first.project) == first.states[1], other.text)
            wait_until(lambda: len({one["sessionId"] for one in claude.live()}) == 2, other.text)
        wait_until(lambda: len(claude.live()) >= 1 and path.exists(), first.screen.text)
        assert prompt("SHELL") in path.read_text()
        assert rewind.json("validate", "--deep")["ok"]
