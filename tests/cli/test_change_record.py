"""`pin`, `unpin`, `describe`, `delete`: what a person may change of a checkpoint."""

from __future__ import annotations

import json

import pytest

from cli.conftest import InProcess
from map_scene import Story
from rewind_cli import Rewind


@pytest.fixture
def many(cli: InProcess) -> InProcess:
    cli.init()
    for number in range(2, 7):
        (cli.project / "a").write_text(f"{number}\n" * 3)
        cli.save(f"number {number}")
    return cli


def test_a_pinned_checkpoint_survives_gc(many: InProcess) -> None:
    name = many.json("pin", "3")["checkpoint"]
    assert many.json("list")["checkpoints"][3]["pinned"] is True
    many.ok("gc", "--keep", "1")
    assert name in many.names() and many.json("show", "3")["name"] == name
    assert "★ pinned" in many.ok("list").out
    assert many.ok("unpin", "3").out.startswith("Unpinned 3: number 3")
    many.ok("gc", "--keep", "1")
    assert name not in many.names()
    assert many.json("validate", "--deep")["ok"] is True


def test_what_only_looks_changes_nothing(many: InProcess) -> None:
    before = many.json("list")
    many.ok("pin", "2", "--dry-run")
    many.ok("describe", "2", "other", "--dry-run")
    assert many.json("delete", "2", "--dry-run")["deleted"] == [many.names()[4]]
    assert many.json("list") == before


def test_a_description_is_found_by_its_text(many: InProcess) -> None:
    name = many.names()[3]
    assert many.json("describe", "3", "works, before the rewrite")["before"] == "number 3"
    assert many.json("show", "before the rewrite")["name"] == name
    record = json.loads((many.state / "checkpoints" / name / "metadata.json").read_text())
    assert record["description"] == "works, before the rewrite" and record["kind"] == "manual"
    assert many.json("validate", "--deep")["ok"] is True
    many.ok("describe", "3", "")
    assert many.json("show", "3")["description"] == ""
    many.fails(1, "describe", "3", "x" * 201)


def test_a_turn_shows_the_name_that_it_was_given(cli: InProcess) -> None:
    story = Story(cli)
    story.turn("Add a parser", a="1")
    cli.ok("describe", "t1+", "it works")
    assert "Add a parser  ★ it works" in cli.ok("list").out


def test_a_deleted_checkpoint_is_gone_and_the_line_goes_on(many: InProcess) -> None:
    gone, child, parent = many.names()[3], many.names()[2], many.names()[4]
    done = many.ok("delete", "3", "--yes")
    assert "Deleted 1 checkpoint" in done.out and gone not in many.names()
    many.fails(12, "show", gone)
    parents = {one["name"]: one["parent"] for one in many.json("list")["checkpoints"]}
    assert parents[child] == parent
    assert many.json("show", "4")["name"] == child, "the others keep their numbers"
    assert many.json("validate", "--deep")["ok"] is True


def test_several_at_once_or_none_of_them(many: InProcess) -> None:
    many.ok("pin", "4")
    assert "it is pinned" in many.fails(1, "delete", "2", "4", "--yes", "--force", hint="unpin")
    assert len(many.names()) == 6
    assert len(many.json("delete", "2", "3", "2", "--yes")["deleted"]) == 2


def test_what_is_needed_is_not_deleted(many: InProcess) -> None:
    assert "the project stands on it" in many.fails(1, "delete", "@", "--yes", "--force")
    many.ok("restore", "2")
    assert "could no longer be undone" in many.fails(1, "delete", "6", "--yes", hint="--force")
    many.ok("delete", "6", "--yes", "--force")
    assert many.json("validate", "--deep")["ok"] is True


def test_without_a_terminal_somebody_must_say_yes(many: InProcess) -> None:
    many.fails(2, "delete", "2", hint="--dry-run")
    assert many.fails_with_json(2, "delete", "2")["message"] == "Not a terminal. Pass --yes to confirm."
    assert len(many.names()) == 6


# the rest of the command line

def test_the_right_form_is_said_where_paths_lack_their_dashes(two: Rewind) -> None:
    assert two.fails(2, "restore", "1", "src") == "error: Put `--` before paths: rewind restore 1 -- src"
    two.fails(2, "restore", "1", "--code-only", "a b", hint="rewind restore 1 --code-only -- 'a b'")
    two.fails(2, "diff", "1", "2", "src", hint="rewind diff 1 2 -- src")
    assert two.fails(2, "list", "src", hint="rewind list -- src")


def test_aliases_and_version(two: Rewind) -> None:
    assert two.ok("ls", "--checkpoints").out.count("\n") == 2 and "README" not in two.ok("st").out
    assert two.json("ls")["checkpoints"] == two.json("list")["checkpoints"]
    assert two.ok("version").out.startswith("rewind 0.") and two.json("version")["version"]
    assert "usage: rewind list" in two.ok("help", "ls").out


def test_code_of_checkpoints_is_searched_also_what_is_gone(two: Rewind) -> None:
    (two.project / "src/app.py").write_text("def parse_header():\n    pass\n")
    two.ok("save", "with a parser")
    (two.project / "src/app.py").unlink()
    two.ok("save", "without")
    (two.project / "bin").write_bytes(b"\0parse_header")
    two.ok("save", "binary")
    lines = two.ok("grep", "--code", "parse_header").out.splitlines()
    assert len(lines) == 1 and lines[0].split()[0] == "3" and lines[0].endswith(
        "src/app.py:1: def parse_header():")
    found = two.json("grep", "--code", "PARSE_", "-i")["matches"]
    assert [(one["number"], one["path"], one["line"]) for one in found] == [(3, "src/app.py", 1)]
    assert 'No file of a checkpoint contains "nosuch". Use -i' in two.ok("grep", "--code", "nosuch").err
    two.fails(2, "grep", "--code", "x", "--session", "abcdef")
