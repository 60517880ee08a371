"""`rewind init`."""

from __future__ import annotations

from pathlib import Path

from rewind_cli import Rewind


def test_init_makes_a_private_state_directory_and_the_first_checkpoint(cli: Rewind) -> None:
    (cli.project / "a.txt").write_text("a\n")
    done = cli.ok("init")
    assert done.out == f"Protected: {cli.project}\n"
    assert cli.state.stat().st_mode & 0o777 == 0o700
    assert (cli.state / ".gitignore").read_text() == "*\n"
    (checkpoint,) = cli.json("list")["checkpoints"]
    assert checkpoint["kind"] == "initial" and checkpoint["fileCount"] == 1


def test_init_twice_changes_nothing(cli: Rewind) -> None:
    cli.ok("init")
    assert cli.json("init")["created"] is False
    assert cli.ok("init").out == f"Already protected: {cli.project}\n"
    assert len(cli.names()) == 1


def test_init_in_global_mode_leaves_the_project_alone(cli: Rewind) -> None:
    answer = cli.json("init", "--mode", "global")
    assert answer["mode"] == "global" and answer["state"].startswith(str(cli.home))
    assert [p.name for p in cli.project.rglob("*")] == [".agent", "rewind-store"]
    assert len(cli.names()) == 1


def test_init_dry_run_makes_nothing(cli: Rewind) -> None:
    answer = cli.json("init", "--dry-run")
    assert answer["dryRun"] is True and answer["created"] is False
    assert list(cli.project.iterdir()) == []
    assert "Would protect" in cli.ok("init", "--dry-run").out


def test_init_dry_run_says_where_the_checkpoints_would_be(cli: Rewind) -> None:
    assert cli.json("init", "--dry-run")["mode"] == "global"
    assert cli.json("init", "--dry-run", "--mode", "project")["mode"] == "project"
    cli.init("project")
    assert cli.json("init", "--dry-run")["mode"] == "project"


def test_init_refuses_a_home_directory_and_the_root(cli: Rewind) -> None:
    cli.fails(2, "init", "-C", str(cli.home))
    cli.fails(2, "init", "-C", "/")
    cli.fails(1, "init", "-C", str(cli.project / "nothing"))


def test_init_works_on_another_directory(cli: Rewind, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert cli.json("init", "-C", str(other))["root"] == str(other)
    assert len(cli.json("list", "-C", str(other))["checkpoints"]) == 1
