"""What the real Claude Code did, shared with somebody on another machine: resumed there, in another HOME and
another directory, with the right history and without the secrets."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from claude_client import Claude
from installed import Installed
from mock_api import MockApi, Reply, Script, call, say
from scripted import prompt
from stage import Stage, make_repository
from talk import prompts

from rewind_cli import tree_state

KEY = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"
CALC = "def add(a, b):\n    return a - b\n"


def script(project: Path, there: Path) -> Script:
    return {
        "PROMPT-START": [Reply([
            call("Write", file_path=str(project / "calc.py"), content=CALC),
            call("Bash", command="mkdir -p build && echo made > build/out && echo build/ > .gitignore",
                 description="build it")]), say("Started.")],
        "PROMPT-DEPLOY": [Reply([
            call("Write", file_path=str(project / "deploy.sh"), content=f"export TOKEN={KEY}\n"),
            call("Bash", command=f"echo {KEY}; ls {project}", description="look")]), say(f"It uses {KEY}.")],
        "PROMPT-FIX": [Reply([call("Read", file_path=str(project / "calc.py"))]),
                       Reply([call("Edit", file_path=str(project / "calc.py"), old_string="a - b",
                                   new_string="a + b")]), say("Fixed.")],
        "PROMPT-THERE": [Reply([call("Write", file_path=str(there / "more.py"), content="more = 1\n")]),
                         say("Done there.")],
    }


@pytest.fixture
def there(tmp_path: Path) -> Stage:
    home, folder = tmp_path / "other machine" / "bob", tmp_path / "other machine" / "src" / "review"
    home.mkdir(parents=True)
    folder.mkdir(parents=True)
    return Stage(home, folder)


def git_files(project: Path) -> dict[bytes, Any]:
    return {path: what for path, what in tree_state(project).items()
            if not path.startswith((b".git/", b".agent")) and path != b".git"}


def test_a_session_is_resumed_on_another_machine(claude_program: Path, stage: Stage, there: Stage,
                                                 tmp_path: Path) -> None:
    make_repository(stage)
    file = tmp_path / "session.tar.gz"
    with MockApi(script(stage.project, there.project)) as api:
        claude, rewind = Claude(claude_program, stage, api), Installed(stage, "claude")
        session = claude.ask(prompt("START"))
        claude.ask(prompt("DEPLOY"), resume=session)
        claude.ask(prompt("FIX"), resume=session)
        mine = rewind.json("list")["turns"]
        assert len(mine) == 3
        told = rewind.json("share", session, str(file))
        assert {one["kind"] for one in told["secrets"]} == {"github-token"}

        raw = subprocess.run(["gzip", "-dc", str(file)], check=True, capture_output=True).stdout
        assert KEY.encode() not in raw and str(stage.project).encode() not in raw

        other, after = Claude(claude_program, there, api), Installed(there, "claude")
        opened = after.json("open", str(file))
        chat, = opened["conversations"]
        heard = other.hear(chat["session_id"], prompt("THERE"))
        assert prompts(heard) == ["START", "DEPLOY", "FIX", "THERE"]
        assert KEY not in "\n".join(heard) and str(stage.project) not in "\n".join(heard)
        assert "[secret left out: github-token]" in "\n".join(heard)

        assert (there.project / "more.py").read_text() == "more = 1\n"
        turns = after.json("list")["turns"]
        assert [turn["turn"] for turn in reversed(turns)] == [1, 2, 3, 4]
        lines = after.json("blame", "calc.py")["lines"]
        assert [line["turn"] for line in lines] == [1, 3]
        _same_trees(rewind, after, told["checkpoints"], opened["checkpoints"], tmp_path)
        after("revert", "t3")
        assert (there.project / "calc.py").read_text() == CALC
        assert after.json("validate", "--deep")["ok"]


def _same_trees(rewind: Installed, after: Installed, ours: list[str], theirs: list[str], top: Path) -> None:
    assert len(ours) == len(theirs) >= 6
    for mine, their in zip(ours, theirs):
        left, right = top / f"ours-{mine}", top / f"theirs-{their}"
        rewind("restore", mine, "--to", str(left))
        after("restore", their, "--to", str(right))
        wanted = {path: what for path, what in git_files(left).items()
                  if path != b"deploy.sh" and path.split(b"/")[0] != b"build"}
        assert git_files(right) == wanted
