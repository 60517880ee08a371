"""`rewind status`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rewind import Controller
from rewind.checkpoint.project.locked import locked
from rewind_cli import Rewind, git, interrupt


def test_status_says_how_the_project_stands(two: Rewind) -> None:
    (two.project / "new.txt").unlink()
    (two.project / "README.md").write_text("# three\n")
    text = two.ok("status").out
    assert str(two.project) in text and "global, format objects" in text
    assert f"0 added, 1 modified, 1 deleted since {two.names()[0]}" in text
    assert "of 2.0 GB" in text
    answer = two.json("status")
    assert answer["checkpoints"] == 2 and answer["newest"]["name"] == two.names()[0]
    assert answer["changes"] == {"added": 0, "modified": 1, "deleted": 1}
    assert answer["position"] is None and answer["interrupted"] is None
    assert answer["disk"]["maxBytes"] == 2048 << 20 and answer["disk"]["protectedOverCap"] is False
    assert "unprotected" not in answer


def test_status_in_global_mode(cli: Rewind) -> None:
    cli.ok("init", "--mode", "global")
    assert cli.json("status")["mode"] == "global"


def test_status_says_where_we_are_after_an_undo(two: Rewind) -> None:
    oldest = two.names()[-1]
    two.ok("undo")
    text = two.ok("status").out
    assert f"here         {oldest}; to go forward: rewind redo" in text
    assert f"nothing since {oldest}" in text
    answer = two.json("status")
    assert answer["position"] == answer["here"] == oldest and answer["canRedo"] is True


def test_every_list_has_the_checkpoint_that_status_calls_here(two: Rewind) -> None:
    (two.project / "README.md").write_text("not saved\n")
    two.ok("undo")
    hidden = two.ok("list", "--checkpoints", "--all").out.count("backup")
    two.ok("redo")
    here = two.json("status")["here"]
    answer = two.json("list")
    assert (hidden, here in [c["name"] for c in answer["checkpoints"]], answer["here"]) == (1, True, here)
    assert here in two.ok("list", "--checkpoints").out
    rows = [line for line in two.ok("list").out.splitlines() if "◀ here" in line]
    assert len(rows) == 1 and rows[0].endswith(here)
    assert two.json("show", "last")["name"] != here, "`last` is still the newest that is no backup"
    two.ok("save", "on top of it")
    assert here not in two.ok("list").out, "a backup is hidden again once the project has moved on"


def test_status_tells_of_an_interrupted_restore(two: Rewind) -> None:
    name = two.names()[1]
    two.ok("restore", "prev")
    interrupt(two.state)
    text = two.ok("status").out
    assert "interrupted" in text and "rewind undo-restore" in text and f"rewind restore {name}" in text
    assert two.json("status")["interrupted"] == name
    controller = Controller(str(two.project), home=str(two.home / ".rewind"))
    with locked(controller.state, "restore"):  # as while it is being done
        assert two.json("status")["interrupted"] is None
    controller.close()


def test_status_warns_when_what_is_never_deleted_exceeds_the_cap(two: Rewind) -> None:
    (two.project / "big").write_bytes(os.urandom(2 << 20))
    two.ok("config", "--set", "storage.maxSizeMb=1")
    two.ok("save")
    done = two.ok("status")
    assert "storage.maxSizeMb" in done.err and "gc --keep" in done.err
    assert two.json("status")["disk"]["protectedOverCap"] is True


def unprotected_project(rewind: Rewind) -> None:
    git(rewind.project, "init", "-q", home=rewind.home)
    put = rewind.project
    (put / ".gitignore").write_text("data/\nlarge.log\n")
    (put / "large.log").write_bytes(bytes(1 << 21))
    (put / "data").mkdir()
    (put / "data/many").write_bytes(bytes(11 << 20))
    (put / "node_modules/x").mkdir(parents=True)
    (put / "node_modules/x/index.js").write_text("x")
    os.mkfifo(put / "pipe")
    (put / "huge.bin").write_bytes(bytes(2000))


def test_everything_unprotected_is_named_with_its_reason(cli: Rewind) -> None:
    unprotected_project(cli)
    cli.ok("init")
    cli.ok("config", "--set", "maxFileSizeMb=0.001")
    done = cli.ok("status", "--unprotected")
    lines = done.out.splitlines()
    assert lines == [
        "larger than maxFileSizeMb (0.001 MB)  (1)", "  huge.bin",
        "ignored by git and not small  (2)", "  data/", "  large.log",
        "not a file, link or directory  (1)", "  pipe",
        "caches and dependency trees (built-in list and .rewindignore)  (1)"]
    assert "maxFileSizeMb=" in done.err and ".rewindignore" in done.err
    assert "  node_modules/" in cli.ok("status", "--unprotected", "--all").out.splitlines()
    answer = cli.json("status", "--unprotected")
    assert {(item["path"], item["reason"]) for item in answer["unprotected"]} == {
        ("huge.bin", "too-large"), ("data", "ignored-large"), ("large.log", "ignored-large"),
        ("pipe", "special"), ("node_modules", "skip-list")}
    assert answer["unprotectedCount"] == 5
    assert "4 paths, and 1 caches and dependencies" in cli.ok("status").out


def test_what_the_hints_say_helps(cli: Rewind) -> None:
    unprotected_project(cli)
    (cli.project / "pipe").unlink()
    (cli.project / ".rewindignore").write_text("!node_modules/\n")
    cli.ok("init")
    cli.ok("config", "--set", "ignored=all")
    assert cli.ok("status", "--unprotected").out == "Everything is protected.\n"


def test_status_with_the_setting_none(cli: Rewind) -> None:
    unprotected_project(cli)
    cli.ok("init")
    cli.ok("config", "--set", "ignored=none")
    assert "ignored by git (the setting `ignored` is none)  (2)" in cli.ok(
        "status", "--unprotected").out


def test_status_compares_with_our_own_checkpoints_only(two: Rewind, tmp_path: Path) -> None:
    two.ok("export", "prev", str(tmp_path / "x"))
    two.ok("import", str(tmp_path / "x"))
    assert two.json("status")["changes"] == {"added": 0, "modified": 0, "deleted": 0}


def test_a_root_that_is_not_utf8_is_shown_by_its_bytes(cli: Rewind) -> None:
    root = os.path.join(os.fsencode(cli.project.parent), b"odd-\xff")
    try:
        os.mkdir(root)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    cli.ok("init", "-C", root)
    assert "/odd-\\xff\n" in cli.ok("status", "-C", root).out
