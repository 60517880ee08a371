"""One of four turns of the real Claude Code is taken back; the others, their tests and the session go on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from claude_client import Claude
from installed import Installed, state
from mock_api import MockApi, Reply, Script, call, say
from scripted import prompt
from stage import Stage, make_repository
from talk import prompts

CALC = '''"""Sums."""


def add(a, b):
    return a + b


def sub(a, b):
    return a - b
'''
TESTS = """import unittest

import calc


class Sums(unittest.TestCase):
    def test_add(self):
        self.assertEqual(calc.add(2, 3), 5)

    def test_sub(self):
        self.assertEqual(calc.sub(5, 3), 2)
"""
MUL = "\n\ndef mul(a, b):\n    return a * b\n"
MUL_TEST = "\n    def test_mul(self):\n        self.assertEqual(calc.mul(2, 3), 6)\n"


def script(project: Path) -> Script:
    calc, tests = str(project / "calc.py"), str(project / "test_calc.py")
    return {
        "PROMPT-START": [Reply([call("Write", file_path=calc, content=CALC),
                                call("Write", file_path=tests, content=TESTS)]), say("Started.")],
        "PROMPT-FASTER": [Reply([call("Edit", file_path=calc, old_string="return a + b",
                                      new_string="return a | b  # faster"),
                                 _bash("mkdir -p tuning && echo fast > tuning/notes.txt")]), say("Faster.")],
        "PROMPT-MUL": [Reply([_bash(f"printf '%s' '{MUL}' >> calc.py; printf '%s' '{MUL_TEST}'"
                                    " >> test_calc.py")]), say("Added.")],
        "PROMPT-RENAME": [Reply([_bash("sed -i 's/Sums\\./Sums, and products./' calc.py; echo done > LOG")]),
                          say("Renamed.")],
    }


def _bash(command: str) -> dict[str, object]:
    return call("Bash", command=command, description="try")


def passes(project: Path) -> bool:
    done = subprocess.run([sys.executable, "-B", "-m", "unittest", "-q"], cwd=project, capture_output=True)
    return done.returncode == 0


def test_the_second_of_four_turns_is_taken_back(claude_program: Path, stage: Stage) -> None:
    make_repository(stage)
    project = stage.project
    with MockApi(script(project)) as api:
        claude = Claude(claude_program, stage, api)
        rewind = Installed(stage, "claude")
        session = ""
        for name in ("START", "FASTER", "MUL", "RENAME"):
            session = claude.ask(prompt(name), session)
        before, transcript = state(project), claude.transcript(session).read_bytes()
        assert "a | b" in before["calc.py"] and not passes(project)

        blamed = rewind.json("blame", "calc.py")["lines"]
        by_shell = [line for line in blamed if "def mul" in line["text"]]  # made by a command, not by a tool
        assert [(line["turn"], "PROMPT-MUL" in line["prompt"]) for line in by_shell] == [(3, True)]
        assert [line["turn"] for line in blamed if "a | b" in line["text"]] == [2]

        plan = rewind.json("revert", "t2", "--dry-run")
        assert [one["path"] for one in plan["written"]] == ["calc.py"]
        assert {one["path"] for one in plan["deleted"]} == {"tuning", "tuning/notes.txt"}
        assert state(project) == before

        done = rewind.json("revert", "t2")
        after = state(project)
        assert after["calc.py"] == CALC.replace("Sums.", "Sums, and products.") + MUL
        assert after["test_calc.py"] == before["test_calc.py"] and after["LOG"] == "done\n"
        assert not (project / "tuning").exists() and passes(project)
        assert done["note"].startswith("I reverted your change to calc.py")
        assert claude.transcript(session).read_bytes() == transcript, "the conversation stays as it is"

        heard = claude.hear(session, prompt("NEXT"))
        assert prompts(heard) == ["START", "FASTER", "MUL", "RENAME", "NEXT"]
        assert state(project) == after
        rewind("apply", "t2", "--force")
        assert state(project) == before
        rewind("undo-restore")
        rewind("undo-restore")
        assert state(project) == before, "everything can be undone"
        assert rewind.json("validate", "--deep")["ok"]
