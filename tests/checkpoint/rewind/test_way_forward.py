"""Where `undo`, `redo` and `undo-restore` lead when something else happened in between."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from chat_scene import Scene, client_is_running
from cli import conftest as in_process
from cli.conftest import InProcess
from rewind_cli import interrupt, tree_state

cli = in_process.cli  # the fixture


@pytest.fixture
def three(cli: InProcess) -> InProcess:
    """Three checkpoints, with 1, 2 and 3 in a file."""
    for number in "123":
        (cli.project / "a").write_text(number)
        cli.ok("save", number) if cli.state.exists() else cli.init()
    return cli


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    scene = Scene(cli)
    scene.do("one", a="1")
    scene.first = scene.save().name
    scene.do("two", a="2")
    scene.remember()
    return scene


def a(cli: InProcess) -> str:
    return (cli.project / "a").read_text()


def test_undo_takes_back_what_was_changed_since_the_last_step_before_it_goes_on(three: InProcess) -> None:
    three.ok("restore", "2")
    (three.project / "a").write_text("9")
    for expected in "21":
        three.ok("undo")
        assert a(three) == expected
    three.fails(12, "undo")
    (three.project / "a").write_text("8")
    three.ok("undo")
    assert a(three) == "1"


def test_undo_goes_on_although_something_of_where_we_stand_cannot_be_restored(three: InProcess) -> None:
    (three.project / "b").write_text("b")
    three.save()
    (three.project / "a").write_text("5")
    three.save()
    (three.project / "b").unlink()
    (three.project / "b").mkdir()
    (three.project / "b/.git").mkdir()
    for expected, code in (("3", 3), ("2", 0), ("1", 0)):
        assert three.run("undo").code == code
        assert a(three) == expected


def test_a_save_that_finds_nothing_new_leaves_the_way_forward_open(three: InProcess) -> None:
    three.ok("undo")
    three.save()
    three.ok("redo")
    assert a(three) == "3"
    three.ok("undo")
    three.ok("undo-restore")
    three.save()
    three.ok("redo")
    assert a(three) == "2"
    (three.project / "a").write_text("new")
    three.save()
    three.fails(12, "redo")


def test_after_a_collection_a_step_is_taken_back_as_exactly_as_before_it(cli: InProcess) -> None:
    project = cli.project
    (project / ".gitignore").write_text("*.log\n")
    (project / "x.log").write_text("ignored")
    cli.init()
    (project / "x.log").unlink()
    (project / "a").write_text("2")
    cli.save()
    cli.save("one more")
    before = tree_state(project)
    cli.ok("restore", "1")
    assert (project / "x.log").exists()
    cli.ok("gc", "--keep", "1")
    cli.ok("undo-restore")
    assert tree_state(project) == before


def test_redo_leads_to_what_undo_restore_had_left_ignored_files_too(cli: InProcess) -> None:
    project = cli.project
    (project / ".gitignore").write_text("*.log\n")
    (project / "a").write_text("1")
    cli.init()
    (project / "a").write_text("2")
    (project / "x.log").write_text("ignored")
    cli.ok("restore", "last")
    (project / "x.log").unlink()
    left = tree_state(project)
    cli.ok("undo-restore")
    assert (project / "x.log").exists()
    cli.ok("redo")
    assert tree_state(project) == left


@pytest.mark.slow
def test_a_step_whose_backup_was_collected_is_no_step_to_take_back(three: InProcess) -> None:
    for number in range(44):
        (three.project / "a").write_text(f"work {number}")
        three.ok("restore", three.names()[number % 2])
    three.ok("gc", "--keep", "1")
    for _ in range(20):
        three.ok("undo-restore")
    for more in ((), ("--dry-run",)):
        assert "no restore to undo" in three.fails(12, "undo-restore", *more)


# a conversation that cannot be had back

def test_redo_goes_on_without_a_fork_that_is_gone_for_good(scene: Scene) -> None:
    scene.write(a="3")
    scene.cli.ok("undo")
    scene.cli.ok("undo-restore")
    scene.cli.ok("restore", scene.first)
    scene.cli.ok("undo-restore")
    shutil.rmtree(scene.cli.state / "trash")
    said = scene.cli.run("redo")
    assert said.code == 3 and "no longer in the trash" in said.err
    assert scene.read("a") == "1" and scene.forks() == []
    scene.cli.ok("undo-restore")
    assert scene.read("a") == "3"


def test_a_step_about_a_fork_alone_that_is_gone_for_good_is_used_up(scene: Scene) -> None:
    scene.cli.ok("restore", scene.first, "--code-only")
    scene.cli.ok("restore", scene.first, "--context-only")
    scene.cli.ok("undo-restore")
    shutil.rmtree(scene.cli.state / "trash")
    assert scene.cli.run("redo").code == 3
    scene.cli.ok("undo-restore")
    assert scene.read("a") == "2"


def test_without_its_backup_a_conversation_stays_as_it_is_and_the_code_is_taken_back(scene: Scene) -> None:
    scene.cli.ok("restore", scene.first, "--in-place")
    cut = scene.path.read_bytes()
    shutil.rmtree(scene.cli.state / "transcript-backup")
    said = scene.cli.run("undo-restore")
    assert said.code == 3 and "its backup is gone" in said.err
    assert scene.read("a") == "2" and scene.path.read_bytes() == cut
    assert "interrupted" not in scene.cli.ok("status").out
    scene.cli.ok("redo")
    assert scene.read("a") == "1" and scene.path.read_bytes() == cut


def test_a_conversation_that_cannot_be_put_back_is_told_and_tried_again(
        scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    from rewind.checkpoint.rewind.effects import rewritten

    before = scene.path.read_bytes()
    scene.cli.ok("restore", scene.first, "--in-place")

    def refused(*args: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(rewritten, "put_back", refused)
        assert "the conversation is not: Permission denied" in scene.cli.fails(3, "undo-restore")
    assert scene.read("a") == "2" and "interrupted" not in scene.cli.ok("status").out
    scene.cli.ok("undo-restore")
    assert scene.path.read_bytes() == before and scene.lost() == []


# what is said

def test_a_dry_run_of_a_way_back_or_forward_tells_of_the_conversation_too(scene: Scene) -> None:
    scene.cli.ok("restore", scene.first)
    fork = scene.forks()[0].stem
    assert f"Would move the fork to the trash: {fork}" in scene.cli.ok("undo-restore", "--dry-run").out
    scene.cli.ok("undo-restore")
    assert f"Would bring the fork back: {fork}" in scene.cli.ok("redo", "--dry-run").out
    scene.cli.ok("redo")
    with open(scene.forks()[0], "ab") as file:
        file.write(b"\n".join(scene.talk.lines) + b"\n")
    assert "Would keep the fork" in scene.cli.ok("undo-restore", "--dry-run").out
    scene.cli.ok("restore", scene.first, "--in-place")
    assert scene.cli.json("undo-restore", "--dry-run")["notes"] == [
        f"Would undo: restored {scene.first}",
        f"Would put the backup in the transcript's place: {scene.path}"]
    shutil.rmtree(scene.cli.state / "transcript-backup")
    assert "its backup is gone" in scene.cli.json("undo-restore", "--dry-run")["notes"][1]


def test_a_step_about_the_conversation_alone_has_no_checkpoint_in_its_dry_run_either(scene: Scene) -> None:
    scene.cli.ok("back", "1")
    assert scene.cli.json("undo-restore", "--dry-run")["checkpoint"] is None
    assert scene.cli.json("undo-restore")["checkpoint"] is None


def test_a_way_forward_is_named_only_where_there_is_one(scene: Scene) -> None:
    scene.cli.ok("back", "1")
    interrupt(scene.cli.state)
    assert "rewind redo" not in scene.cli.ok("undo-restore").err
    scene.cli.fails(12, "redo")
    scene.cli.ok("restore", scene.first)
    assert "To undo: rewind redo" in scene.cli.ok("undo-restore").err


def test_an_open_session_is_told_and_refused_without_options_that_do_not_exist(scene: Scene) -> None:
    scene.cli.ok("restore", scene.first, "--in-place")
    client_is_running(scene.cli.home, scene.session)
    [_, _, refused] = scene.cli.json("undo-restore", "--dry-run")["notes"]
    assert refused.startswith("Refused without --force: ")
    said = scene.cli.run("undo-restore")
    assert said.code == 13 and "--in-place" not in said.err


def test_a_dry_run_in_place_refuses_what_the_run_refuses(scene: Scene) -> None:
    without_chat = scene.cli.names()[-1]
    args = ("restore", without_chat, "--in-place")
    assert scene.cli.fails(1, *args, "--dry-run") == scene.cli.fails(1, *args)
    cut = f"Would cut session {scene.session}"
    assert scene.cli.json("restore", scene.first, "--in-place", "--dry-run")["notes"] == [cut]
    client_is_running(scene.cli.home, scene.session)
    [said, refused] = scene.cli.json("restore", scene.first, "--in-place", "--dry-run")["notes"]
    assert said == cut and refused.startswith("Refused without --force: ")
    scene.cli.fails(13, "restore", scene.first, "--in-place")
    assert f"Would fork session {scene.session}" in scene.cli.ok("restore", scene.first, "--dry-run").out


@pytest.mark.parametrize("args, code", [(["delete", "ORIGINAL"], 1), (["rename", "FORK", " "], 1)])
def test_a_dry_run_refuses_what_the_run_refuses(scene: Scene, args: list[str], code: int) -> None:
    fork = scene.cli.json("back", "1")["fork"]["session_id"]
    args = [{"ORIGINAL": scene.session, "FORK": fork}.get(arg, arg) for arg in args]
    assert scene.cli.fails(code, "forks", *args, "--dry-run") == scene.cli.fails(code, "forks", *args)


def test_a_fork_that_is_named_twice_is_counted_once(scene: Scene) -> None:
    fork = scene.cli.json("back", "1")["fork"]["session_id"]
    for more in (("--dry-run",), ()):
        assert scene.cli.json("forks", "delete", fork, fork, *more)["sessions"] == [fork]


def test_what_steps_kept_does_not_make_the_history_too_long(cli: InProcess) -> None:
    cli.init()
    (cli.project / ".gitignore").write_text("*.log\n")
    folder = cli.project / ("d" * 200)
    folder.mkdir()
    for number in range(490):
        (folder / f"{number:0200}.log").write_text("x")
    (cli.project / "a").write_text("1")
    names = cli.names()
    for number in range(6):
        (cli.project / "a").write_text(str(number))
        assert cli.ok("restore", names[0], "--force")
        assert len(os.listdir(folder)) == 490
    log = [json.loads(line) for line in (cli.state / "operations.jsonl").read_text().splitlines()]
    assert {tuple(line["leftAlone"]) for line in log if line["event"] == "begin"} == {
        tuple(sorted(f"{folder.name}/{number:0200}.log" for number in range(490)))}


def test_where_too_many_names_are_left_alone_their_directory_stands_for_them(cli: InProcess) -> None:
    cli.init()
    folder = cli.project / ("d" * 200)
    folder.mkdir()
    (cli.project / ".gitignore").write_text("*.log\n")
    for number in range(1400):
        (folder / f"{number:0200}.log").write_text("x")
    cli.ok("config", "--set", "ignoredDirMaxFiles=5000")
    (folder / "new.txt").write_text("newer than the checkpoint")
    cli.ok("restore", "last")
    line = json.loads((cli.state / "operations.jsonl").read_text().splitlines()[0])
    assert line["leftAlone"] == [folder.name + "/"]
    assert not (folder / "new.txt").exists() and not (cli.project / ".gitignore").exists()
    cli.ok("restore", "last")
    assert len(os.listdir(folder)) == 1400
