"""Three futures of one prompt with the real Claude Code, at once: compared, one adopted, two taken away."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from claude_client import Claude
from installed import Installed, state
from mock_api import MockApi, Reply, Script, call, say
from scripted import prompt
from stage import Stage, make_repository
from talk import prompts

TRIES = {"ONE": "return a + b", "TWO": "return b + a", "THREE": "return a - b"}
CALC = "def add(a, b):\n    raise NotImplementedError\n"
TESTS = """import unittest

import calc


class Sums(unittest.TestCase):
    def test_add(self):
        self.assertEqual(calc.add(2, 3), 5)
"""


def script(project: Path, folders: list[Path]) -> Script:
    found: Script = {"PROMPT-START": [Reply([
        call("Write", file_path=str(project / "calc.py"), content=CALC),
        call("Write", file_path=str(project / "test_calc.py"), content=TESTS)]), say("Started.")]}
    for (name, body), folder in zip(TRIES.items(), folders):
        found[f"PROMPT-{name}"] = [
            Reply([call("Read", file_path=str(folder / "calc.py"))]),
            Reply([call("Edit", file_path=str(folder / "calc.py"), old_string="raise NotImplementedError",
                        new_string=body),
                   call("Bash", command=f"echo {name} > by-shell.txt", description="note it")]),
            say(f"{name} is done.")]
    return found


def in_folder(rewind: Installed, folder: Path, *args: str) -> dict[str, Any]:
    program = str(rewind.stage.home / ".local" / "bin" / "rewind")
    done = subprocess.run([program, *args, "--json"], cwd=folder, env=rewind.env, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert done.returncode == 0, done
    return dict(json.loads(done.stdout))


def test_three_futures_at_once(claude_program: Path, stage: Stage) -> None:
    make_repository(stage)
    project = stage.project
    folders = [Path(f"{project}-fork-{number}") for number in (1, 2, 3)]
    with MockApi(script(project, folders)) as api:
        claude = Claude(claude_program, stage, api)
        rewind = Installed(stage, "claude")
        session = claude.ask(prompt("START"))
        before, transcript = state(project), claude.transcript(session).read_bytes()

        made = rewind.json("fork", "t1+", "-n", "3")["forks"]
        assert [Path(one["dir"]) for one in made] == folders
        assert all(state(folder).items() >= before.items() for folder in folders)

        clients = [Claude(claude_program, Stage(stage.home, folder), api) for folder in folders]
        with ExitStack() as stack:
            running = [stack.enter_context(client.asking(prompt(name), one["session_id"]))
                       for client, name, one in zip(clients, TRIES, made)]
            for process in running:
                out, err = process.communicate(timeout=120)
                assert process.returncode == 0, (out, err)
        for client, (name, body), folder, one in zip(clients, TRIES.items(), folders, made):
            assert prompts(client.heard(prompt(name))) == ["START", name]
            assert body in (folder / "calc.py").read_text()
            assert (folder / "by-shell.txt").read_text() == f"{name}\n"
            rows = in_folder(rewind, folder, "list")["checkpoints"]
            assert {row["sessionId"] for row in rows} == {one["session_id"]}
            assert {row["trigger"]["event"] for row in rows} >= {"UserPromptSubmit", "Stop"}
        assert state(project) == before and claude.transcript(session).read_bytes() == transcript

        run = f"{sys.executable} -B -m unittest -q"
        found = in_folder(rewind, project, "forks", "compare", "fork-1", "fork-2", "fork-3", "--run", run)
        assert {name: one["code"] for name, one in found["run"].items()} == {
            "fork-1": 0, "fork-2": 0, "fork-3": 1}
        assert [lane["turns"] for lane in found["lanes"]] == [1, 1, 1]
        assert {row["path"] for row in found["files"]} == {"calc.py", "by-shell.txt"}
        assert state(project) == before

        home = rewind.json("forks", "adopt", "fork-2")["fork"]
        assert TRIES["TWO"] in (project / "calc.py").read_text()
        assert prompts(claude.hear(home["session_id"], prompt("NEXT"))) == ["START", "TWO", "NEXT"]
        rewind("forks", "remove", "fork-1", "fork-3")
        assert [folder.exists() for folder in folders] == [False, True, False]
        assert [lane["name"] for lane in rewind.json("forks", "list")["lanes"]] == ["fork-2"]
        assert rewind.json("validate", "--deep")["ok"]
