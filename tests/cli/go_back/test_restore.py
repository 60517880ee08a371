"""`rewind restore` and `rewind jump`; what is restored, and how, is tested in fidelity/."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rewind_cli import Rewind, tree_state


@pytest.mark.parametrize("command", ["restore", "jump"])
def test_restore_brings_the_project_back_and_says_so(two: Rewind, command: str) -> None:
    oldest = two.names()[-1]
    done = two.ok(command, "prev")
    assert done.out == f"Restored to {oldest}. Reload your agent session.\n"
    assert "undo-restore" in done.err
    assert (two.project / "README.md").read_text() == "# one\n"
    assert not (two.project / "new.txt").exists()


def test_restore_as_json_has_the_fields_of_the_contract(two: Rewind) -> None:
    (two.project / "new.txt").write_text("unsaved")
    answer = two.json("restore", "prev")
    assert [item["path"] for item in answer["written"]] == ["README.md"]
    assert [item["path"] for item in answer["deleted"]] == ["new.txt"]
    assert answer["kept"] == [] and answer["fork"] is None and answer["dryRun"] is False
    assert answer["backup"] in two.names(backups=True) and answer["conflicts"] == []
    assert answer["operation"] == two.json("ops")["operations"][0]["id"]


def test_no_backup_is_made_where_the_tree_is_that_of_the_checkpoint_we_stand_on(two: Rewind) -> None:
    assert two.json("restore", "prev")["backup"] is None
    two.ok("undo-restore")
    assert (two.project / "README.md").read_text() == "# two\n" and len(two.names(backups=True)) == 2


def test_restore_dry_run_shows_the_plan_and_touches_nothing(two: Rewind) -> None:
    before = tree_state(two.project)
    shown = two.ok("restore", "prev", "--dry-run").out
    assert "~ README.md" in shown and "- new.txt" in shown
    assert two.plan("prev")["backup"] is None
    assert tree_state(two.project) == before and len(two.names(backups=True)) == 2


def test_restore_of_one_path_leaves_the_others_alone(two: Rewind) -> None:
    two.ok("restore", "prev", "--", "README.md")
    assert (two.project / "README.md").read_text() == "# one\n"
    assert (two.project / "new.txt").exists()


def test_paths_are_relative_to_where_the_user_stands(two: Rewind) -> None:
    (two.project / "src/app.py").write_text("changed\n")
    result = two.run("restore", "last", "--", "app.py", cwd=two.project / "src")
    assert result.code == 0
    assert (two.project / "src/app.py").read_text().startswith("line 1\n")


def test_a_double_dash_without_paths_is_wrong_usage(two: Rewind) -> None:
    two.fails(2, "restore", "last", "--")


def test_restore_to_another_directory_touches_nothing_here(two: Rewind, tmp_path: Path) -> None:
    before = tree_state(two.project)
    answer = two.json("restore", "prev", "--to", str(tmp_path / "there"))
    assert (tmp_path / "there/README.md").read_text() == "# one\n"
    assert "README.md" in [item["path"] for item in answer["written"]]
    assert tree_state(two.project) == before
    two.fails(1, "restore", "prev", "--to", str(tmp_path / "there"))


def test_a_dry_run_to_another_directory_says_what_would_be_there(two: Rewind, tmp_path: Path) -> None:
    there = tmp_path / "not yet/there"
    plan = two.json("restore", "prev", "--dry-run", "--to", str(there))
    text = two.ok("restore", "prev", "--dry-run", "--to", str(there)).out.splitlines()
    assert not there.parent.exists()
    assert plan["dryRun"] is True and plan["to"] == str(there) and plan["deleted"] == []
    assert text[:-1] == [f"+ {item['path']}" for item in plan["written"]]
    assert text[-1] == f"Would write {len(plan['written'])} paths of {two.names()[1]} into {there}"
    assert {**plan, "dryRun": False} == two.json("restore", "prev", "--to", str(there))
    assert two.json("restore", "last", "--dry-run").keys() - {"digest"} <= plan.keys()
    two.fails(1, "restore", "prev", "--to", str(there), "--dry-run", hint="empty")
    two.fails(12, "restore", "prev", "--to", str(tmp_path / "other"), "--dry-run", "--", "no-such")


def test_a_path_that_the_checkpoint_does_not_hold_makes_no_directory(two: Rewind, tmp_path: Path) -> None:
    two.fails(12, "restore", "prev", "--to", str(tmp_path / "other"), "--", "no-such")
    assert not (tmp_path / "other").exists()


def test_an_empty_directory_called_agent_is_written_elsewhere_but_not_the_place_of_the_state(
        rewind: Rewind, tmp_path: Path) -> None:
    (rewind.project / "src" / ".agent").mkdir(parents=True)
    rewind.init("project")
    rewind.ok("restore", "last", "--to", str(tmp_path / "there"))
    assert (tmp_path / "there" / "src" / ".agent").is_dir() and not (tmp_path / "there" / ".agent").exists()


def test_with_the_state_at_home_an_empty_directory_called_agent_is_the_users(
        rewind: Rewind, tmp_path: Path) -> None:
    (rewind.project / ".agent").mkdir()
    rewind.ok("init", "--mode", "global")
    rewind.ok("restore", "last", "--to", str(tmp_path / "there"))
    assert (tmp_path / "there" / ".agent").is_dir()


def test_restore_again_says_that_nothing_had_to_be_done(two: Rewind) -> None:
    assert two.ok("restore", "last").out == f"Already as it was in {two.names()[0]}\n"


def test_names_that_are_not_utf8_can_be_given(two: Rewind) -> None:
    name = os.path.join(os.fsencode(two.project), b"odd\xff")
    with open(name, "w") as file:
        file.write("then\n")
    two.ok("save")
    os.unlink(name)
    two.ok("restore", "last", "--", b"odd\xff")
    assert os.path.exists(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to somebody else")
def test_what_root_restores_keeps_the_owner_of_the_file_or_gets_that_of_its_directory(two: Rewind) -> None:
    folder, file = two.project / "theirs", two.project / "theirs/tool"
    folder.mkdir()
    file.write_text("one\n")
    os.chown(folder, 1234, 1235)
    os.chown(file, 1236, 1237)
    file.chmod(0o4755)
    two.ok("save")
    file.write_text("two\n")
    two.ok("restore", "last", "--code-only")
    assert (file.stat().st_uid, file.stat().st_gid, file.stat().st_mode & 0o7777) == (1236, 1237, 0o4755)
    file.unlink()
    two.ok("restore", "last", "--code-only")
    assert (file.stat().st_uid, file.stat().st_gid, file.stat().st_mode & 0o7777) == (1234, 1235, 0o4755)
