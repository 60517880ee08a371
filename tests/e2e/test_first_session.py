"""The first session of somebody who has only read the README: the real Claude Code in a real terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from first_session import BAD, NEXT, PROMPTS, FirstSession, script
from mock_api import MockApi
from stage import Stage


@pytest.fixture
def session(claude_program: Path, stage: Stage, tmux: None) -> Iterator[FirstSession]:
    with MockApi(script(stage.project)) as api:
        yield FirstSession(claude_program, stage, api)


def test_a_turn_that_deleted_too_much_is_found_gone_back_from_and_resumed(session: FirstSession) -> None:
    session.play()
    project, bad = session.stage.project, PROMPTS[BAD - 1]
    lists = [step.seen for step in session.steps if step.typed == "rewind list"]
    row = next(line for line in lists[0].splitlines() if bad in line)
    assert f"t{BAD}" in row and "! −11 in 4 files" in row and row.split()[0].isdigit()
    shown = session.seen(f"rewind show t{BAD}")
    assert bad in shown and "by shell commands" in shown and "$ rm -rf src .env" in shown

    back = session.seen(f"rewind back {len(PROMPTS) - BAD + 1} --both")
    assert f'Back to before "{bad}" (turn {BAD}, ' in back and "claude --resume " in back
    assert sorted(p.name for p in (project / "src").iterdir()) == ["health.py", "server.py", "settings.py"]
    assert (project / ".env").read_text() == "API_KEY=secret\n"
    assert not (project / "README.md").exists()

    told = "\n".join(session.heard())
    for number, prompt in enumerate([*PROMPTS, NEXT], 1):
        assert (prompt in told) == (number < BAD or prompt == NEXT), prompt
    assert f'went back to before "{bad}"' in lists[1] and NEXT in lists[1]
