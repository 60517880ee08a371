"""`rewind doctor`: how it looks, and how it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewind.agents import registry
from rewind_cli import Rewind

pytestmark = pytest.mark.slow


@pytest.fixture
def well(two: Rewind) -> Rewind:
    registry._loaded.clear()
    (two.home / ".claude").mkdir()
    two.ok("install", "--yes")
    return two


def test_doctor_ends_with_0_when_there_is_no_problem(well: Rewind) -> None:
    done = well.ok("doctor")
    lines = done.out.splitlines()
    assert any(line.startswith("ok       ") for line in lines) and done.err == ""
    assert not any(line.startswith("problem") for line in lines)
    assert any(line.startswith("warning  ") for line in lines), "PATH lacks the command"


def test_doctor_ends_with_1_when_there_is_one_and_says_the_fix_below(two: Rewind) -> None:
    done = two.run("doctor")
    lines = done.out.splitlines()
    assert done.code == 1
    at = next(i for i, line in enumerate(lines) if line.startswith("problem  "))
    assert lines[at + 1].startswith("         ") and "rewind install" in lines[at + 1]


def test_doctor_reports_as_json(well: Rewind) -> None:
    done = well.json("doctor")
    assert done["ok"] is True
    assert all(set(check) == {"name", "status", "message", "fix"} for check in done["checks"])
    assert {check["status"] for check in done["checks"]} <= {"ok", "warning", "problem"}
    (well.home / ".rewind" / "config.json").write_text("{")
    assert well.json("doctor", code=1)["ok"] is False


def test_doctor_works_outside_a_project(well: Rewind) -> None:
    assert well.run("doctor", cwd=well.home).code == 0
    (well.home / "elsewhere").mkdir()
    assert well.run("doctor", cwd=well.home / "elsewhere").code == 1
    assert well.run("doctor", "-C", str(well.project), cwd=well.home).code == 0


def test_a_directory_that_does_not_exist_is_refused(well: Rewind, tmp_path: Path) -> None:
    well.fails(1, "doctor", "-C", str(tmp_path / "none"))


def test_doctor_cannot_be_made_to_steer_the_terminal(two: Rewind) -> None:
    (two.home / ".rewind" / "config.json").write_text('{"\\u001b[2J": 1}')
    assert "\x1b" not in two.run("doctor").out
