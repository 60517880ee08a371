"""`rewind share` and `rewind open`: what leaves a machine, and what becomes of it on another one."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from chat_scene import Scene, Turns, prompts_of
from cli.conftest import InProcess
from rewind.agents.registry import profile_named
from rewind.transcript.find import folder_name
from rewind_cli import Rewind, git, tree_state

KEY = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"


@pytest.fixture
def scene(cli: InProcess) -> Turns:
    git(cli.project, "init", "-q", home=cli.home)
    (cli.project / ".gitignore").write_text("build/\n*.log\n")
    (cli.project / "build").mkdir()
    (cli.project / "build/out.bin").write_text("made\n")
    (cli.project / ".env").write_text("DB_PASSWORD=s3cr3tPassw0rd\n")
    (cli.project / "src").mkdir()
    (cli.project / "src/app.py").write_text("one\ntwo\nthree\n")
    (cli.project / "src/run.sh").write_text("#!/bin/sh\n")
    (cli.project / "src/run.sh").chmod(0o755)
    (cli.project / "link").symlink_to("src/app.py")
    (cli.project / "passwd").symlink_to("/etc/passwd")
    (cli.project / "empty").mkdir()
    (cli.project / os.fsdecode(b"odd \xff\n name")).write_text("odd\n")
    scene = Turns(cli)
    scene.turn("Write a parser", parser="one\ntwo\nthree\n")
    scene.turn(f"Use {KEY} in {os.path.realpath(cli.project)}/src/app.py", parser="one\nTWO\nthree\n",
               deploy=f"token = '{KEY}'\n")
    scene.turn("Clean up", notes="clean\n")
    return scene


@pytest.fixture
def there(cli: InProcess, tmp_path: Path) -> Rewind:
    """Another machine: another HOME, another path."""
    home, folder = tmp_path / "elsewhere" / "bob", tmp_path / "elsewhere" / "work" / "review me"
    home.mkdir(parents=True)
    folder.mkdir(parents=True)
    return cli.elsewhere(folder, home)


def share(scene: Turns, tmp_path: Path, *args: str) -> Path:
    file = tmp_path / "shared.tar.gz"
    scene.cli.ok("share", *(args or (scene.session,)), str(file))
    return file


def tar(file: Path, *args: str) -> bytes:
    return subprocess.run(["tar", "-xzf", str(file), "-O", *args], check=True, capture_output=True).stdout


def members(file: Path) -> list[str]:
    return subprocess.run(["tar", "-tzf", str(file)], check=True, capture_output=True,
                          text=True).stdout.splitlines()


def transcript(there: Rewind, session: str) -> Path:
    profile = profile_named("claude", str(there.home / ".rewind"))
    return (there.home / ".claude/projects" / folder_name(profile, os.path.realpath(there.project))
            / f"{session}.jsonl")


# what leaves

def test_secrets_ignored_files_and_links_out_do_not_leave(scene: Turns, tmp_path: Path) -> None:
    file = share(scene, tmp_path)
    raw = subprocess.run(["gzip", "-dc", str(file)], check=True, capture_output=True).stdout

    assert KEY.encode() not in raw and b"s3cr3tPassw0rd" not in raw and b"made" not in raw
    left_out = dict(json.loads(tar(file, "share.json"))["leftOut"])
    assert left_out == {".env": "secret", "build": "ignored", "deploy.txt": "secret", "passwd": "link-out"}


def test_the_file_is_for_nobody_else_and_the_same_each_time(scene: Turns, tmp_path: Path) -> None:
    first = share(scene, tmp_path)
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    again = tmp_path / "again.tar.gz"
    scene.cli.ok("share", scene.session, str(again))
    assert first.read_bytes() == again.read_bytes()


def test_the_project_is_not_named_and_no_directory_of_this_machine(scene: Turns, tmp_path: Path) -> None:
    file = share(scene, tmp_path)
    raw = subprocess.run(["gzip", "-dc", str(file)], check=True, capture_output=True).stdout
    assert os.fsencode(os.path.realpath(scene.cli.project)) not in raw
    assert os.fsencode(scene.cli.home) not in raw
    assert b"/rewind-shared-project/src/app.py" in raw


def test_tar_alone_reads_the_newest_files(scene: Turns, tmp_path: Path) -> None:
    file = share(scene, tmp_path)
    assert tar(file, "files/parser.txt") == b"one\nTWO\nthree\n"
    assert f"conversations/{scene.session}.jsonl" in members(file)


def test_what_is_secret_is_told_with_its_place(scene: Turns, tmp_path: Path) -> None:
    found = scene.cli.json("share", scene.session, str(tmp_path / "x.tar.gz"), "--dry-run")
    assert [(one["path"], one["line"], one["kind"]) for one in found["secrets"] if "path" in one] == [
        (".env", None, "env-file"), ("deploy.txt", 1, "github-token")]
    assert {(one["turn"], one["kind"]) for one in found["secrets"] if "session" in one} == {
        (2, "github-token")}
    assert not (tmp_path / "x.tar.gz").exists()


def test_with_secrets_and_ignored_files_on_request(scene: Turns, tmp_path: Path) -> None:
    file = share(scene, tmp_path, scene.session, "--with-secrets", "--with-ignored")
    assert tar(file, "files/.env") == b"DB_PASSWORD=s3cr3tPassw0rd\n"
    assert tar(file, "files/build/out.bin") == b"made\n"
    assert KEY.encode() in tar(file, f"conversations/{scene.session}.jsonl")
    told = scene.cli.run("share", "last", str(tmp_path / "x.tar.gz"), "--with-secrets", "--dry-run").err
    assert "Secrets that will be shared" in told and "deploy.txt:1: github-token" in told


def test_turns_alone_have_their_checkpoints_and_the_conversation_up_to_them(scene: Turns,
                                                                            tmp_path: Path) -> None:
    found = scene.cli.json("share", "t2", str(tmp_path / "x.tar.gz"), "--dry-run")
    assert found["conversations"][0]["turns"] == 2 and len(found["checkpoints"]) == 2
    both = scene.cli.json("share", scene.session, "t1..t2", str(tmp_path / "x.tar.gz"), "--dry-run")
    assert len(both["checkpoints"]) == 4 and both["conversations"][0]["turns"] == 2


def test_a_checkpoint_alone_with_and_without_its_conversation(scene: Turns, tmp_path: Path) -> None:
    found = scene.cli.json("share", "last", str(tmp_path / "x.tar.gz"), "--dry-run")
    assert len(found["checkpoints"]) == 1 and found["conversations"][0]["turns"] == 3
    file = share(scene, tmp_path, "last", "--code-only")
    assert not [name for name in members(file) if name.endswith(".jsonl")]


def test_an_existing_file_stays_unless_forced(scene: Turns, tmp_path: Path) -> None:
    file = tmp_path / "shared.tar.gz"
    file.write_text("mine")
    assert scene.cli.run("share", "last", str(file)).code == 1
    assert file.read_text() == "mine"
    scene.cli.ok("share", "last", str(file), "--force")


@pytest.mark.parametrize("words", [["t9"], ["t3..t1"], ["nosuch1"], ["last", "t1", "t2"]])
def test_what_does_not_exist_is_said(scene: Turns, tmp_path: Path, words: list[str]) -> None:
    found = scene.cli.run("share", *words, str(tmp_path / "x.tar.gz"))
    assert found.code in (2, 12) and "error:" in found.err
    assert not (tmp_path / "x.tar.gz").exists()


# in an empty directory

def opened(there: Rewind, file: Path, *args: str) -> dict[str, Any]:
    return there.json("open", str(file), *args)


def test_an_empty_directory_becomes_the_project_but_for_what_was_left_out(scene: Turns, there: Rewind,
                                                                          tmp_path: Path) -> None:
    found = opened(there, share(scene, tmp_path))
    assert found["created"] and found["count"] == 6

    wanted = tree_state(scene.cli.project)
    gone = (b".env", b"build", b"build/out.bin", b"deploy.txt", b"passwd", b".agent", b".git")
    wanted = {path: what for path, what in wanted.items()
              if path not in gone and not path.startswith((b".git/", b".agent/"))}
    have = {path: what for path, what in tree_state(there.project).items()
            if not path.startswith(b".agent")}
    assert have == wanted


def test_every_checkpoint_has_the_tree_that_it_had(scene: Turns, there: Rewind, tmp_path: Path) -> None:
    found = opened(there, share(scene, tmp_path))
    ours = [record.name for record in reversed(scene.records()) if record.trigger.get("session")]
    assert len(ours) == len(found["checkpoints"]) == 6
    left_out = (b".env", b"deploy.txt", b"passwd", b"build")
    for mine, theirs in zip(ours, found["checkpoints"]):
        scene.cli.ok("restore", mine, "--to", str(tmp_path / f"a {mine}"))
        there.ok("restore", theirs, "--to", str(tmp_path / f"b {theirs}"))
        left = tree_state(tmp_path / f"a {mine}")
        assert tree_state(tmp_path / f"b {theirs}") == {
            path: what for path, what in left.items() if path.split(b"/")[0] not in left_out}


def test_the_conversation_is_resumed_there_with_its_history(scene: Turns, there: Rewind,
                                                            tmp_path: Path) -> None:
    chat, = opened(there, share(scene, tmp_path))["conversations"]
    path = transcript(there, chat["session_id"])
    assert f"claude --resume {chat['session_id']}" in chat["resume"]
    root = os.path.realpath(there.project)
    assert prompts_of("claude", path) == [
        "Write a parser", f"Use [secret left out: github-token] in {root}/src/app.py", "Clean up"]
    assert os.path.realpath(scene.cli.project) not in path.read_text()


def test_the_history_works_there(scene: Turns, there: Rewind, tmp_path: Path) -> None:
    opened(there, share(scene, tmp_path))

    lines = there.json("blame", "parser.txt")["lines"]
    assert [line["turn"] for line in lines] == [1, 2, 1]
    assert len(there.json("list")["turns"]) == 3
    assert "TWO" in there.ok("diff", "t2", "t2+").out
    there.ok("revert", "t2")
    assert (there.project / "parser.txt").read_text() == "one\ntwo\nthree\n"
    there.ok("validate", "--deep")


def test_what_was_left_out_is_not_deleted_by_going_back(scene: Turns, there: Rewind, tmp_path: Path) -> None:
    opened(there, share(scene, tmp_path))
    (there.project / ".env").write_text("mine\n")
    (there.project / "deploy.txt").write_text("mine as well\n")
    there.ok("restore", "t3+", "--code-only")
    assert (there.project / ".env").read_text() == "mine\n"
    assert (there.project / "deploy.txt").read_text() == "mine as well\n"


# in a project

def test_in_a_project_nothing_changes_but_the_history(scene: Turns, there: Rewind, tmp_path: Path) -> None:
    (there.project / "parser.txt").write_text("one\ntwo\nthree\nmine\n")
    there.init()
    before, here = tree_state(there.project), there.json("list")["checkpoints"]
    found = opened(there, share(scene, tmp_path))

    assert not found["created"] and found["added"] == 6
    assert tree_state(there.project) == before
    assert there.json("list")["checkpoints"] == here
    theirs = [line.split("\t") for line in there.ok("list", "--all").out.splitlines() if "@shared-" in line]
    assert [row[2] for row in theirs] == ["t3", "t2", "t1"]
    assert {row[6] for row in theirs} == {f"(in @{found['lane']})"}
    first, last = found["checkpoints"][2], found["checkpoints"][-1]  # what turns 2 and 3 did
    there.ok("apply", f"{first}..{last}")
    assert (there.project / "parser.txt").read_text() == "one\nTWO\nthree\nmine\n"
    assert (there.project / "notes.txt").read_text() == "clean\n"


def test_a_turn_of_theirs_can_be_named_by_its_session(scene: Turns, there: Rewind, tmp_path: Path) -> None:
    (there.project / "mine.txt").write_text("mine\n")
    there.init()
    chat, = opened(there, share(scene, tmp_path))["conversations"]
    assert "clean" in there.ok("diff", f"{chat['session_id']}:t3", f"{chat['session_id']}:t3+").out


def test_the_same_file_twice_adds_nothing(scene: Turns, there: Rewind, tmp_path: Path) -> None:
    file = share(scene, tmp_path)
    there.init()
    first = opened(there, file)
    before = tree_state(there.home / ".claude")
    again = opened(there, file)
    assert again["added"] == 0 and again["checkpoints"] == first["checkpoints"]
    assert not again["conversations"][0]["new"] and tree_state(there.home / ".claude") == before
    assert "Everything in it is already here" in there.ok("open", str(file)).out


def test_a_longer_one_adds_what_is_new(scene: Turns, there: Rewind, tmp_path: Path) -> None:
    there.init()
    opened(there, share(scene, tmp_path, scene.session, "t1..t2"))
    scene.turn("One more", notes="more\n")
    later = tmp_path / "later.tar.gz"
    scene.cli.ok("share", scene.session, str(later))
    found = opened(there, later)
    assert found["added"] == 4 and found["count"] == 8


def test_shared_back_it_is_recognised(scene: Turns, there: Rewind, tmp_path: Path) -> None:
    opened(there, share(scene, tmp_path))
    back = tmp_path / "back.tar.gz"
    there.ok("share", "t1..t3", str(back))
    assert scene.cli.json("open", str(back))["added"] == 0


def test_a_dry_run_changes_nothing(scene: Turns, there: Rewind, tmp_path: Path) -> None:
    file = share(scene, tmp_path)
    assert opened(there, file, "--dry-run")["count"] == 6
    assert not os.listdir(there.project) and not os.listdir(there.home)


def test_a_directory_with_other_things_in_it_is_refused(scene: Turns, there: Rewind, tmp_path: Path) -> None:
    (there.project / "mine.txt").write_text("mine\n")
    found = there.run("open", str(share(scene, tmp_path)))
    assert found.code == 1 and "neither empty nor a project" in found.err
    assert os.listdir(there.project) == ["mine.txt"]
    there.ok("open", str(tmp_path / "shared.tar.gz"), "sub/new")
    assert (there.project / "sub/new/parser.txt").exists()


def test_an_export_is_told_from_a_shared_file(scene: Turns, there: Rewind, tmp_path: Path) -> None:
    scene.cli.ok("export", "last", str(tmp_path / "e.tar.gz"))
    found = there.run("open", str(tmp_path / "e.tar.gz"))
    assert found.code == 1 and "rewind import" in found.err


# the rest

def test_a_link_that_differs_by_case_stays_behind(scene: Turns, there: Rewind, tmp_path: Path) -> None:
    if (scene.cli.project / "SRC").exists():
        pytest.skip("here both are one name")
    (scene.cli.project / "SRC").symlink_to("empty")
    (scene.cli.project / "NOTES.txt").write_text("another file\n")  # two files do no harm
    scene.cli.ok("save", "with a link")
    file = share(scene, tmp_path, "last")
    assert dict(json.loads(tar(file, "share.json"))["leftOut"])["SRC"] == "not-shared"
    opened(there, file)
    assert (there.project / "src/app.py").exists() and not os.path.lexists(there.project / "SRC")
    assert (there.project / "NOTES.txt").read_text() == "another file\n"


def test_work_trees_may_be_called_anything(scene: Turns, there: Rewind, tmp_path: Path) -> None:
    git(scene.cli.project, "commit", "-q", "--allow-empty", "-m", "begin", home=scene.cli.home)
    tree = tmp_path / "ünïcode [tree]"
    git(scene.cli.project, "worktree", "add", "-q", "--detach", str(tree), home=scene.cli.home)
    (tree / "there.txt").write_text("there\n")
    assert scene.cli.run("save", "in a work tree", cwd=tree).code == 0
    file = tmp_path / "x.tar.gz"
    assert scene.cli.run("share", "last", str(file), "--code-only", cwd=tree).code == 0
    opened(there, file)
    assert (there.project / "there.txt").read_text() == "there\n"
    assert there.json("list")["here"]


def test_a_work_tree_in_which_a_file_was_opened_is_no_fork_that_could_be_removed(scene: Turns,
                                                                                 tmp_path: Path) -> None:
    git(scene.cli.project, "commit", "-q", "--allow-empty", "-m", "begin", home=scene.cli.home)
    tree = tmp_path / "tree"
    git(scene.cli.project, "worktree", "add", "-q", "--detach", str(tree), home=scene.cli.home)
    file = share(scene, tmp_path, scene.session)
    chat, = scene.cli.run("open", str(file), "--json", cwd=tree).data["conversations"]
    there = scene.cli.run("sessions", "list", "--json", cwd=tree).data["sessions"]
    assert [one["session_id"] for one in there] == [chat["session_id"]]
    assert scene.cli.json("forks", "list")["lanes"] == []
    assert scene.cli.run("forks", "remove", chat["session_id"], "--force").code == 12 and tree.exists()


def test_droid_goes_on_there_with_its_directory_in_line_1(cli: InProcess, there: Rewind,
                                                           tmp_path: Path) -> None:
    scene = Scene(cli, "droid")
    scene.do("Write a parser", parser="one\n")
    scene.save("Stop")
    scene.do("Make it fast", parser="two\n")
    scene.save("Stop")
    file = tmp_path / "shared.tar.gz"
    cli.ok("share", scene.session, str(file))
    chat, = opened(there, file)["conversations"]
    path, = (there.home / ".factory/sessions").rglob(f"{chat['session_id']}.jsonl")
    assert prompts_of("droid", path) == ["Write a parser", "Make it fast"]
    head = json.loads(path.read_bytes().splitlines()[0])
    assert head["cwd"] == os.path.realpath(there.project) and head["id"] == chat["session_id"]
    assert (there.project / "parser.txt").read_text() == "two\n"


def test_large_files_and_archives_are_shared_as_well(cli: InProcess, there: Rewind, tmp_path: Path) -> None:
    content = os.urandom(1 << 20) * 9 + b"end"
    (cli.project / "large.bin").write_bytes(content)
    cli.init()
    cli.ok("config", "--set", "storage.format=archive")
    (cli.project / "small.txt").write_text("small\n")
    cli.ok("save", "an archive")
    file = tmp_path / "shared.tar.gz"
    cli.ok("share", "last", str(file))
    opened(there, file)
    assert (there.project / "large.bin").read_bytes() == content
    there.ok("validate", "--deep")


@pytest.mark.parametrize("empty", [True, False])
def test_an_open_that_is_killed_is_finished_by_the_next_one(scene: Turns, tmp_path: Path,
                                                            empty: bool) -> None:
    """Killed for real, at moments spread over all that it does."""
    file = share(scene, tmp_path)
    for number in range(8):
        top = tmp_path / f"machine {number}"
        (top / "home").mkdir(parents=True)
        (top / "project").mkdir()
        there = scene.cli.elsewhere(top / "project", top / "home")
        if not empty:
            (there.project / "mine.txt").write_text("mine\n")
            there.init()
        process = subprocess.Popen([*there.command, "open", str(file)], cwd=there.project, env=there.env,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(0.08 + 0.06 * number)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        found = opened(there, file)
        assert found["count"] == len(set(found["checkpoints"])) == 6
        assert (there.project / "parser.txt").exists() == empty
        assert len([r for r in there.json("list", "--all")["checkpoints"] if r["sessionId"]]) == 6
        there.ok("validate", "--deep")


def test_an_open_that_was_killed_among_the_files_writes_those_that_are_missing(scene: Turns, there: Rewind,
                                                                               tmp_path: Path) -> None:
    file = share(scene, tmp_path)
    opened(there, file)
    written = (there.project / "parser.txt").read_text()
    (there.project / "parser.txt").unlink()  # as if killed before it had its name
    (there.state / "opening").touch()
    (there.project / ".rewind-tmp-4711").mkdir()
    (there.project / ".rewind-tmp-4711" / "0").write_text("staged")
    (there.project / "mine.txt").write_text("made since")
    found = opened(there, file)
    assert found["count"] == 6 and (there.project / "parser.txt").read_text() == written
    assert (there.project / "mine.txt").read_text() == "made since"
    assert not (there.project / ".rewind-tmp-4711").exists() and not (there.state / "opening").exists()


def test_names_are_completed(scene: Turns) -> None:
    found = scene.cli.ok("__complete", "share", "").out
    assert scene.session in found and "\nt3\t" in f"\n{found}" and "last\t" in found


@pytest.mark.parametrize(("answer", "written"), [(True, True), (False, False)])
def test_on_a_terminal_it_asks_when_there_are_secrets(scene: Turns, tmp_path: Path, answer: bool,
                                                      written: bool,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool]] = []

    def ask(question: str, *, default: bool) -> bool:
        asked.append((question, default))
        return answer

    monkeypatch.setattr("rewind.cli.give.share.has_terminal", lambda: True)
    monkeypatch.setattr("rewind.cli.give.share.ask_yes", ask)
    file = tmp_path / "x.tar.gz"
    assert scene.cli.run("share", "last", str(file)).code == (0 if answer else 1)
    assert file.exists() == written
    scene.cli.run("share", "last", str(file), "--with-secrets", "--force")
    scene.cli.run("share", "last", str(file), "--yes", "--force")
    assert [default for _, default in asked] == [True, False]


def test_a_file_of_the_other_kind_names_the_other_command(cli: InProcess, tmp_path: Path) -> None:
    cli.init()
    shared, exported = tmp_path / "shared.tar.gz", tmp_path / "exported.tar.gz"
    cli.ok("share", "last", str(shared))
    cli.ok("export", "last", str(exported))
    assert "rewind open" in cli.fails(1, "import", str(shared))
    assert "rewind open" in cli.fails(1, "import", str(shared), "--dry-run")
    assert "rewind import" in cli.fails(1, "open", str(exported))
