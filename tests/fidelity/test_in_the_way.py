"""What stands where something is to come back, and what today's rules would not look at."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rewind_cli import Rewind, git, paths_of, tree_state

pytestmark = pytest.mark.slow

MB = 1 << 20


def fill(folder: Path, count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"{number:04}").write_text(f"{number}\n")


@pytest.fixture
def repo(rewind: Rewind) -> Rewind:
    git(rewind.project, "init", "-q", home=rewind.home)
    rewind.init()
    return rewind


# taking a step back

def test_what_a_restore_brought_goes_again_although_the_rules_of_today_would_not_look_at_it(
        repo: Rewind) -> None:
    project = repo.project
    (project / "cache.bin").write_bytes(os.urandom(2 * MB))
    fill(project / "gen/deep", 600)
    (project / "gen/empty").mkdir()
    name = repo.save()
    full = tree_state(project)
    (project / ".git/info").mkdir(exist_ok=True)
    (project / ".git/info/exclude").write_text("cache.bin\ngen/\n")
    (project / "cache.bin").unlink()
    shutil.rmtree(project / "gen")
    repo.save()
    bare = tree_state(project)
    repo.ok("restore", name)
    assert tree_state(project) == full
    repo.ok("undo-restore")
    assert tree_state(project) == bare
    repo.ok("redo")
    assert tree_state(project) == full
    (project / "gen/of mine").write_text("made meanwhile, and ignored")
    (project / "gen/deep/0000").write_text("changed meanwhile, and ignored")
    repo.ok("undo-restore")
    assert sorted(os.listdir(project / "gen")) == ["deep", "of mine"]
    assert os.listdir(project / "gen/deep") == ["0000"]


def test_beside_files_of_which_only_some_are_known_those_that_were_brought_go_again(repo: Rewind) -> None:
    project = repo.project
    (project / ".gitignore").write_text("gen/\n")
    fill(project / "gen", 400)
    name = repo.save()
    for number in range(300):
        (project / f"gen/{number:04}").unlink()
    fill(project / "gen/more", 700)
    repo.save()
    before = tree_state(project)
    repo.ok("restore", name)
    assert (project / "gen/0007").read_text() == "7\n"
    repo.ok("undo-restore")
    assert tree_state(project) == before


# what is there instead of a directory

@pytest.mark.parametrize("size, rules", [(200 * MB, ""), (2 * MB, "d\n")])
def test_an_empty_directory_comes_back_where_something_large_is_now(
        repo: Rewind, size: int, rules: str) -> None:
    project = repo.project
    (project / "d").mkdir()
    name = repo.save()
    (project / "d").rmdir()
    (project / ".git/info").mkdir(exist_ok=True)
    (project / ".git/info/exclude").write_text(rules)
    with open(project / "d", "wb") as file:
        file.truncate(size)
    before = tree_state(project)
    repo.ok("restore", name)
    assert (project / "d").is_dir()
    repo.ok("undo-restore")
    assert tree_state(project) == before


def test_a_directory_with_files_comes_back_where_something_large_is_now(repo: Rewind) -> None:
    project = repo.project
    fill(project / "d", 3)
    name = repo.save()
    was = tree_state(project)
    shutil.rmtree(project / "d")
    with open(project / "d", "wb") as file:
        file.truncate(101 * MB)
    before = tree_state(project)
    repo.ok("restore", name)
    assert tree_state(project) == was
    repo.ok("undo-restore")
    assert tree_state(project) == before


def test_an_empty_directory_comes_back_within_an_ignored_one_that_grew(repo: Rewind) -> None:
    project = repo.project
    (project / ".gitignore").write_text("gen/\n")
    (project / "gen/a/empty").mkdir(parents=True)
    (project / "gen/kept").write_text("x")
    name = repo.save()
    shutil.rmtree(project / "gen/a")
    fill(project / "gen/more", 700)
    repo.ok("restore", name)
    assert (project / "gen/a/empty").is_dir() and len(os.listdir(project / "gen/more")) == 700
    repo.ok("undo-restore")
    assert not (project / "gen/a").exists()


@pytest.mark.parametrize("paths", [(), ("--", "d/0001"), ("--", "d")])
def test_where_a_fifo_is_now_nothing_passes_for_restored(repo: Rewind, paths: tuple[str, ...]) -> None:
    project = repo.project
    fill(project / "d", 2)
    name = repo.save()
    shutil.rmtree(project / "d")
    os.mkfifo(project / "d")
    answer = repo.json("restore", name, *paths, code=3)
    assert paths_of(answer["remaining"]) == paths_of(answer["conflicts"]) == {b"d"}
    assert paths_of(answer["written"]) == set()


@pytest.mark.parametrize("made", ["file", "link"])
def test_what_is_no_directory_any_more_is_not_called_one(repo: Rewind, made: str) -> None:
    project = repo.project
    fill(project / "a/b", 2)
    name = repo.save()
    shutil.rmtree(project / "a/b")
    (project / "a/b").symlink_to("/nowhere") if made == "link" else (project / "a/b").write_text("x")
    said = repo.run("restore", name, "--", "a/b/0001")
    assert said.code == 3 and "a/b (what is there now is not a directory" in said.err
    repo.ok("restore", name, "--", "a/b")
    assert (project / "a/b/0001").read_text() == "1\n"


# a directory where a file is to come back

def mounted(folder: Path) -> bool:
    folder.mkdir(exist_ok=True)
    return subprocess.run(["mount", "-t", "tmpfs", "none", str(folder)], capture_output=True).returncode == 0


@pytest.mark.parametrize("inside", [".git", ".GIT", ".agent/rewind", "deep/.agent/rewind"])
def test_a_directory_that_does_not_go_is_not_emptied_either(repo: Rewind, inside: str) -> None:
    project = repo.project
    (project / "x").write_text("a file")
    name = repo.save()
    (project / "x").unlink()
    fill(project / "x", 3)
    fill(project / "x/deep", 3)
    (project / "x" / inside).mkdir(parents=True)
    (project / "x" / inside / "HEAD").write_text("something")
    before = tree_state(project)
    assert paths_of(repo.plan(name)["kept"]) == {b"x"}
    answer = repo.json("restore", name, code=3)
    assert tree_state(project) == before
    assert paths_of(answer["remaining"]) == {b"x"}
    assert answer["written"] == [] and answer["deleted"] == []


def test_a_mount_point_is_not_emptied_and_does_not_go(repo: Rewind) -> None:
    project = repo.project
    (project / "x").write_text("a file")
    name = repo.save()
    (project / "x").unlink()
    for folder in ("x", "newcomer"):
        if not mounted(project / folder):
            pytest.skip("NOT TESTED: nothing can be mounted here")
    try:
        for folder in ("x", "newcomer"):
            (project / folder / "file").write_text("within")
        answer = repo.json("restore", name, code=3)
        assert (project / "x/file").read_text() == "within" and not os.listdir(project / "newcomer")
        assert paths_of(answer["remaining"]) == {b"x"} and paths_of(answer["deleted"]) == {b"newcomer/file"}
        assert {k["path"]: k["reason"] for k in answer["kept"]} == {
            "x": "in-the-way", "newcomer": "mount-point"}
    finally:
        for folder in ("x", "newcomer"):
            subprocess.run(["umount", str(project / folder)], check=False)


def test_a_newer_directory_that_stays_for_what_is_in_it_is_not_called_deleted(repo: Rewind) -> None:
    project = repo.project
    name = repo.save()
    fill(project / "vendor/lib", 2)
    (project / "vendor/.git").mkdir()
    (project / "vendor/.git/HEAD").write_text("ref: refs/heads/main\n")
    for answer in (repo.plan(name), repo.json("restore", name)):
        assert paths_of(answer["deleted"]) == {b"vendor/lib", b"vendor/lib/0000", b"vendor/lib/0001"}
        assert [(k["path"], k["reason"]) for k in answer["kept"]] == [("vendor", "not-empty")]
    assert os.listdir(project / "vendor") == [".git"]


@pytest.mark.parametrize("also", [False, True])
def test_a_newer_directory_goes_with_the_last_file_that_is_named_in_it(repo: Rewind, also: bool) -> None:
    project = repo.project
    name = repo.save()
    fill(project / "new/deep", 2)
    if also:
        (project / "new/other").write_text("not named")
    answer = repo.json("restore", name, "--", "new/deep/0000", "new/deep/0001")
    gone = {b"new/deep/0000", b"new/deep/0001", b"new/deep"} | (set() if also else {b"new"})
    assert paths_of(answer["deleted"]) == gone
    assert os.listdir(project / "new") == ["other"] if also else not (project / "new").exists()
    repo.ok("undo-restore")
    assert sorted(os.listdir(project / "new/deep")) == ["0000", "0001"]


# names of journals

def test_what_only_has_the_name_of_a_journal_is_a_file_of_its_own(repo: Rewind) -> None:
    project = repo.project
    files = ("notes", "notes-journal", "notes-wal")
    for file in files:
        (project / file).write_text("one")
    fill(project / "notes-shm", 1)
    name = repo.save()
    for file in (*files, "notes-shm/0000"):
        (project / file).write_text("two")
    repo.ok("restore", name, "--", "notes")
    assert [(project / f).read_text() for f in (*files, "notes-shm/0000")] == ["one", "two", "two", "two"]
    repo.ok("restore", name, "--", "notes-wal")
    assert [(project / f).read_text() for f in files] == ["one", "two", "one"]


def test_an_ignored_newcomer_with_the_name_of_a_journal_is_kept(repo: Rewind) -> None:
    project = repo.project
    (project / ".gitignore").write_text("*-journal\n")
    (project / "notes").write_text("one")
    name = repo.save()
    (project / "notes").write_text("two")
    (project / "notes-journal").write_text("of mine")
    (project / "app.db").write_text("no matter")
    (project / "app.db-journal").write_bytes(bytes.fromhex("d9d505f920a163d7") + bytes(500))
    repo.ok("restore", name)
    assert (project / "notes-journal").read_text() == "of mine" and (project / "notes").read_text() == "one"
    assert not (project / "app.db").exists() and not (project / "app.db-journal").exists()


# what is named, and lies where no directory was

def test_a_directory_that_was_made_for_what_is_named_goes_with_it_again(repo: Rewind) -> None:
    project = repo.project
    (project / "a").write_text("x")
    fill(project / "src/deep", 3)
    name = repo.save()
    shutil.rmtree(project / "src")
    before = tree_state(project)
    repo.ok("restore", name, "--", "src/deep/0001")
    after = tree_state(project)
    assert set(after) - set(before) == {b"src", b"src/deep", b"src/deep/0001"}
    repo.ok("undo-restore")
    assert tree_state(project) == before
    repo.ok("redo")
    assert tree_state(project) == after
    (project / "src/mine").write_text("made meanwhile")
    repo.ok("undo-restore")
    assert os.listdir(project / "src") == ["mine"]


def test_what_is_named_and_came_later_goes_although_its_directory_came_later_too(repo: Rewind) -> None:
    project = repo.project
    (project / "d").mkdir()
    (project / "d/known").write_text("x")
    name = repo.save()
    fill(project / "d/new/deep", 2)
    fill(project / "new", 2)
    before = tree_state(project)
    answer = repo.json("restore", name, "--", "d/new/deep/0001", "new/0000")
    assert paths_of(answer["deleted"]) == {b"d/new/deep/0001", b"new/0000"}
    assert {p for p in before if p not in tree_state(project)} == {b"d/new/deep/0001", b"new/0000"}
    repo.ok("undo-restore")
    assert tree_state(project) == before


def test_what_is_named_comes_back_below_a_directory_that_is_gone_from_an_ignored_one(repo: Rewind) -> None:
    project = repo.project
    (project / ".gitignore").write_text("gen/\n")
    fill(project / "gen/sub/deep", 3)
    name = repo.save()
    shutil.rmtree(project / "gen/sub")
    fill(project / "gen/more", 700)
    before = tree_state(project)
    repo.ok("restore", name, "--", "gen/sub/deep/0001")
    assert set(tree_state(project)) - set(before) == {b"gen/sub", b"gen/sub/deep", b"gen/sub/deep/0001"}
    repo.ok("undo-restore")
    assert tree_state(project) == before


# databases where only some files are looked at

def wal_database(path: Path, grow: bool) -> None:
    """Made, or changed so that its newest rows are in its WAL alone: the process ends without closing it."""
    make = "c.execute('create table t(i integer primary key, s text)'); c.executemany(" \
           "'insert into t values(?,?)', [(i, 'old%d' % i * 20) for i in range(300)]); c.commit()"
    change = "c.execute('delete from t where i%3=0'); c.execute('create table u(x)');" \
             "c.executemany('insert into u values(?)', [('new%d' % i * 50,) for i in range(300)]);" \
             "c.commit(); c.execute('pragma wal_checkpoint(passive)');" \
             "c.execute('update t set s=s||s where i%2=0'); c.commit()"
    script = f"import sqlite3, os; c=sqlite3.connect({str(path)!r}); c.execute('pragma journal_mode=wal');" \
             + (f"{change}; os._exit(0)" if grow else f"{make}; c.close()")
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("paths", [(), ("--", "gen/app.db"), ("--", "gen/app.db-wal")])
def test_a_newer_journal_goes_with_its_database_in_an_ignored_directory_that_grew(
        repo: Rewind, paths: tuple[str, ...]) -> None:
    project = repo.project
    (project / ".gitignore").write_text("gen/\n")
    (project / "gen").mkdir()
    wal_database(project / "gen/app.db", grow=False)
    name = repo.save()
    was = (project / "gen/app.db").read_bytes()
    wal_database(project / "gen/app.db", grow=True)
    fill(project / "gen/more", 700)
    before = tree_state(project)
    assert b"gen/app.db-wal" in before
    repo.ok("restore", name, *paths)
    assert (project / "gen/app.db").read_bytes() == was and not (project / "gen/app.db-wal").exists()
    repo.ok("undo-restore")
    assert tree_state(project) == before


def test_a_text_beside_what_is_too_large_is_captured_whatever_its_name(repo: Rewind) -> None:
    project = repo.project
    repo.ok("config", "--set", "maxFileSizeMb=0.01")
    (project / "notes").write_text("small")
    (project / "notes-journal").write_text("old")
    name = repo.save()
    (project / "notes").write_bytes(bytes(20_000))
    (project / "notes-journal").write_text("new")
    (project / "app.db-wal").write_bytes(bytes.fromhex("377f0682") + bytes(500))
    (project / "app.db").write_bytes(bytes(20_000))
    shown = {f["path"]: f["kind"] for f in repo.json("show", repo.save(), "--files")["files"]}
    assert shown["notes-journal"] == "file" and shown["app.db-wal"] == "uncovered"
    repo.ok("restore", name, "--", "notes-journal")
    assert (project / "notes-journal").read_text() == "old"


def test_a_journal_that_was_brought_goes_again_whatever_becomes_of_its_database(repo: Rewind) -> None:
    project = repo.project
    repo.ok("config", "--set", "maxFileSizeMb=0.01")
    (project / ".gitignore").write_text("db\n")
    (project / "d").mkdir()
    for folder in (project, project / "d"):
        (folder / "db").write_text("main")
        (folder / "db-wal").write_bytes(bytes.fromhex("377f0682") + b"wal")
    (project / "lone-wal").write_bytes(bytes.fromhex("377f0682") + b"wal")
    name = repo.save()
    for path in ("db", "db-wal", "lone-wal"):
        (project / path).unlink()
    shutil.rmtree(project / "d")
    (project / "lone").write_bytes(bytes(20_000))
    before = tree_state(project)
    repo.ok("restore", name)
    repo.ok("undo-restore")
    assert tree_state(project) == before


# several steps in a row

def test_as_many_steps_forward_as_back_lead_to_where_they_began(repo: Rewind) -> None:
    project = repo.project
    (project / "a").write_text("1")
    repo.save()
    (project / "a").write_text("2")
    fill(project / "build", 600)
    repo.save()
    shutil.rmtree(project / "build")
    (project / ".git/info").mkdir(exist_ok=True)
    (project / ".git/info/exclude").write_text("build/\n")
    (project / "a").write_text("3")
    before = tree_state(project)
    for command in ("undo", "undo", "redo", "redo"):
        repo.ok(command)
    assert tree_state(project) == before


def test_undo_looks_at_what_the_rules_of_today_pass_over(repo: Rewind) -> None:
    project = repo.project
    (project / ".gitignore").write_text("app.dat\nbuild/\n")
    (project / "a").write_text("1")
    repo.save()
    (project / "a").write_text("2")
    (project / "app.dat").write_text("v2")
    fill(project / "build", 3)
    repo.save()
    fill(project / "build", 600)  # nothing that a checkpoint holds has changed
    repo.ok("undo")
    assert (project / "a").read_text() == "1"
    repo.ok("undo-restore")
    (project / "a").write_text("3")
    repo.ok("undo")
    (project / "app.dat").write_bytes(bytes(3 * MB))
    repo.ok("undo")
    assert (project / "a").read_text() == "2" and (project / "app.dat").read_text() == "v2"


@pytest.mark.parametrize("command", ["undo", "restore"])
def test_what_a_step_kept_for_being_ignored_the_same_step_keeps_again(repo: Rewind, command: str) -> None:
    """Although it took away the file that ignores it."""
    project = repo.project
    (project / "a").write_text("1")
    name = repo.save()
    (project / ".gitignore").write_text(".env\n")
    (project / ".env").write_text("KEY=precious")
    args = [command, name] if command == "restore" else [command]
    for _ in range(3):
        assert repo.run(*args).code in (0, 12)
        assert (project / ".env").read_text() == "KEY=precious" and not (project / ".gitignore").exists()
