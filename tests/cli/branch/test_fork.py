"""Several futures: a turn tried again in directories of their own, compared, brought home, taken away."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from chat_scene import Scene, Turns, client_is_running, prompts_of
from cli.conftest import InProcess
from rewind.agents.registry import profile_named
from rewind.transcript.find import folder_name
from rewind_cli import git, git_state, tree_state

MANY = 5  # files: a directory with so many is in no checkpoint


@pytest.fixture(params=["git", "plain"])
def scene(request: pytest.FixtureRequest, cli: InProcess) -> Turns:
    if request.param == "git":
        git(cli.project, "init", "-q", home=cli.home)
        git(cli.project, "commit", "-q", "--allow-empty", "-m", "begin", home=cli.home)
    (cli.project / ".gitignore").write_text(".env\nnode_modules\n")
    (cli.project / ".env").write_text("TOKEN=1\n")
    (cli.project / "node_modules").mkdir()
    for number in range(MANY):
        (cli.project / "node_modules" / f"m{number}.js").write_text("")
    scene = Turns(cli)
    cli.ok("config", "--set", f"ignoredDirMaxFiles={MANY - 1}")
    scene.turn("Write a parser", parser="one\ntwo\nthree\nfour\nfive\n")
    scene.turn("Make it fast", parser="one\ntwo\nthree\nfour\nFIVE\n")
    scene.turn("Clean up", notes="clean\n")
    return scene


def fork(scene: Scene, *args: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = scene.cli.json("fork", *args)["forks"]
    return found


def transcript(scene: Scene, made: dict[str, Any], agent: str = "claude") -> Path:
    profile = profile_named(agent, str(scene.cli.home))
    return scene.folder.parent / folder_name(profile, made["dir"]) / f"{made['session_id']}.jsonl"


def save_in(scene: Turns, made: dict[str, Any], **files: str) -> None:
    for name, text in files.items():
        Path(made["dir"], f"{name}.txt").write_text(text)
    assert scene.cli.run("save", "there", cwd=Path(made["dir"])).code == 0


def test_a_fork_has_the_code_of_the_turn_and_its_conversation_up_to_there(scene: Turns) -> None:
    before = tree_state(scene.cli.project)
    made, = fork(scene, "t2")
    folder = Path(made["dir"])

    assert folder == Path(f"{os.path.realpath(scene.cli.project)}-fork-1")
    assert (folder / "parser.txt").read_text() == "one\ntwo\nthree\nfour\nfive\n"
    assert not (folder / "notes.txt").exists()
    assert (folder / ".env").read_text() == "TOKEN=1\n"
    assert not (folder / "node_modules").exists()
    assert made["missing"] == ["node_modules"] and made["prompt"] == "Make it fast"
    assert prompts_of("claude", transcript(scene, made)) == ["Write a parser"]
    assert made["resume"] == f"cd {folder} && claude --resume {made['session_id']}"
    assert {path: one for path, one in tree_state(scene.cli.project).items()
            if not path.startswith(b".git/")} == {path: one for path, one in before.items()
                                                  if not path.startswith(b".git/")}


def test_git_in_the_project_is_as_it_was_and_the_fork_is_a_work_tree(scene: Turns) -> None:
    if not (scene.cli.project / ".git").exists():
        pytest.skip("without git")
    before = git_state(scene.cli.project)
    made, = fork(scene, "t2")
    after = {path: one for path, one in git_state(scene.cli.project).items() if "/worktrees" not in path}
    assert {p: o for p, o in after.items() if p in before and "worktrees" not in p} == {
        p: o for p, o in before.items() if "worktrees" not in p}
    assert made["worktree"] is True
    assert git(Path(made["dir"]), "rev-parse", "HEAD", home=scene.cli.home) == git(
        scene.cli.project, "rev-parse", "HEAD", home=scene.cli.home)
    status = git(Path(made["dir"]), "status", "--porcelain", home=scene.cli.home)
    assert "parser" in status and "D " not in status


def test_it_is_a_place_of_the_project_with_a_line_of_its_own(scene: Turns) -> None:
    made, = fork(scene, "t2")
    names = scene.cli.names()
    save_in(scene, made, parser="one\ntwo\nthree\nfour\nfive\nsix\n")

    assert scene.cli.names() == names  # the project's own line
    newest = scene.cli.run("list", "--json", "--checkpoints", cwd=Path(made["dir"])).data["checkpoints"][0]
    assert newest["description"] == "there" and newest["parent"] == made["checkpoint"]
    assert scene.cli.run("diff", "--name-only", cwd=Path(made["dir"])).out == ""


def test_the_conversation_belongs_to_the_fork_and_not_to_the_project(scene: Turns) -> None:
    made, = fork(scene, "t2")
    here = [one["session_id"] for one in scene.cli.json("sessions", "list")["sessions"]]
    there = json.loads(scene.cli.run("sessions", "list", "--json", cwd=Path(made["dir"])).out)["sessions"]
    assert made["session_id"] not in here
    assert [one["session_id"] for one in there] == [made["session_id"]]


def test_going_back_in_a_fork_finds_the_code_from_before_it(scene: Turns) -> None:
    made, = fork(scene, "t3")
    done = json.loads(scene.cli.run("back", "1", "--both", "--json", "--session", made["session_id"],
                                    cwd=Path(made["dir"])).out)
    assert Path(made["dir"], "parser.txt").read_text() == "one\ntwo\nthree\nfour\nfive\n"
    assert done["code"]["exact"] is True
    assert scene.read("parser") == "one\ntwo\nthree\nfour\nFIVE\n"  # the project's


@pytest.mark.parametrize("command", [["back", "1", "--session", "{session}"], ["restore", "3"]])
def test_a_conversation_that_comes_back_in_a_fork_goes_on_there(scene: Turns, command: list[str]) -> None:
    """By its own lines it began in the project, and so did that of the checkpoint 3."""
    made, = fork(scene, "t3")
    there = Path(made["dir"])
    before = scene.cli.json("sessions", "list")["sessions"]
    words = [word.format(session=made["session_id"]) for word in command]
    done = scene.cli.run(*words, "--json", cwd=there).data["fork"]
    assert done["resume"] == f"cd {there} && claude --resume {done['session_id']}"
    assert Path(done["path"]).parent == transcript(scene, made).parent
    sessions = scene.cli.run("sessions", "list", "--json", cwd=there).data["sessions"]
    assert {one["session_id"] for one in sessions} == {made["session_id"], done["session_id"]}
    assert scene.cli.json("sessions", "list")["sessions"] == before
    assert [lane["session_id"] for lane in scene.cli.json("forks", "list")["lanes"]] == [made["session_id"]]


def test_three_at_once_have_names_and_directories_of_their_own(scene: Turns) -> None:
    made = fork(scene, "t2", "-n", "3", "--name", "try")
    assert [one["name"] for one in made] == ["try-1", "try-2", "try-3"]
    assert len({one["session_id"] for one in made}) == 3
    lanes = scene.cli.json("forks", "list")["lanes"]
    assert [(lane["name"], lane["turns"], lane["files"]) for lane in lanes] == [
        ("try-1", 0, 0), ("try-2", 0, 0), ("try-3", 0, 0)]


def test_before_the_first_turn_a_new_session_begins_there(scene: Turns) -> None:
    made, = fork(scene, "t1")
    assert made["session_id"] is None
    assert made["resume"] == f"cd {made['dir']} && claude"
    lane, = scene.cli.json("forks", "list")["lanes"]
    assert (lane["name"], lane["turns"], lane["dir"]) == ("fork-1", None, made["dir"])
    scene.cli.ok("forks", "remove", "fork-1")
    assert scene.cli.json("forks", "list")["lanes"] == []


def test_what_no_checkpoint_holds_is_linked_or_copied_when_asked(scene: Turns) -> None:
    linked, = fork(scene, "t2", "--link")
    copied, = fork(scene, "t2", "--copy")
    assert os.path.islink(Path(linked["dir"], "node_modules"))
    there = Path(copied["dir"], "node_modules")
    assert not there.is_symlink() and len(list(there.iterdir())) == MANY
    assert linked["carried"] == copied["carried"] == ["node_modules"]


def test_an_environment_that_leads_back_is_never_brought_along(scene: Turns) -> None:
    packages = scene.cli.project / ".venv" / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    (scene.cli.project / ".venv" / "pyvenv.cfg").write_text("home = /usr\n")
    (packages / "__editable__.pth").write_text(f"{os.path.realpath(scene.cli.project)}\n")
    for number in range(MANY):
        (packages / f"m{number}.py").write_text("")
    (scene.cli.project / ".gitignore").write_text(".env\nnode_modules\n.venv\n")
    made, = fork(scene, "t2", "--copy")
    assert made["leadsBack"] == [".venv"] and not Path(made["dir"], ".venv").exists()
    assert "would run the code of this project" in scene.cli.ok("fork", "t2", "--link").err


def test_a_dry_run_makes_nothing(scene: Turns) -> None:
    made, = fork(scene, "t2", "--dry-run")
    assert not Path(made["dir"]).exists()
    assert scene.cli.json("forks", "list")["lanes"] == []


def test_droid_is_told_the_new_directory_in_its_first_line(cli: InProcess) -> None:
    scene = Scene(cli, "droid")
    scene.say("One")
    scene.save("Stop")
    scene.say("Two")
    made, = fork(scene, "t2")
    path = transcript(scene, made, "droid")
    assert json.loads(path.read_bytes().splitlines()[0])["cwd"] == made["dir"]
    assert prompts_of("droid", path) == ["One"]


# compare, adopt, remove

def two_tries(scene: Turns) -> tuple[dict[str, Any], dict[str, Any]]:
    one, other = fork(scene, "t2", "-n", "2")
    save_in(scene, one, parser="ONE\ntwo\nthree\nfour\nfive\n", ok="yes\n")
    Path(other["dir"], "parser.txt").write_text("one\ntwo\nthree\nfour\nfive\nsix\n")  # not saved yet
    return one, other


def test_compare_shows_what_each_did_and_what_a_command_says(scene: Turns) -> None:
    two_tries(scene)
    found = scene.cli.json("forks", "compare", "fork-1", "fork-2", "--run", "test -f ok.txt")
    changes = {row["path"]: row["changes"] for row in found["files"]}
    assert changes["parser.txt"] == {"fork-1": {"status": "modified", "added": 1, "removed": 1},
                                 "fork-2": {"status": "modified", "added": 1, "removed": 0}}
    assert changes["ok.txt"]["fork-2"] is None
    assert {name: one["code"] for name, one in found["run"].items()} == {"fork-1": 0, "fork-2": 1}
    said = scene.cli.ok("forks", "compare", "fork-1", "fork-2").out.splitlines()
    assert said[0].split("\t") == ["", "fork-1", "fork-2"]
    assert ["parser.txt", "+1 −1", "+1 −0"] in [line.split("\t") for line in said]
    assert scene.cli.json("forks", "list")["lanes"][1]["lastRun"]["code"] == 1


def test_ctrl_c_ends_the_command(scene: Turns) -> None:
    one, _ = two_tries(scene)
    pid = Path(one["dir"], "pid")
    run = "echo $$ > pid.new; mv pid.new pid; exec sleep 600"
    process = subprocess.Popen([*scene.cli.command, "forks", "compare", "fork-1", "fork-2", "--run", run],
                               cwd=scene.cli.project, env=scene.cli.env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not pid.exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_adopting_one_merges_its_code_and_brings_its_conversation_home(scene: Turns) -> None:
    two_tries(scene)
    done = scene.cli.json("forks", "adopt", "fork-1")
    assert scene.read("parser") == "ONE\ntwo\nthree\nfour\nFIVE\n"  # with what the project did since
    assert scene.read("ok") == "yes\n" and scene.read("notes") == "clean\n"
    assert done["fork"]["resume"] == (f"cd {os.path.realpath(scene.cli.project)} &&"
                                      f" claude --resume {done['fork']['session_id']}")
    assert Path(done["fork"]["path"]).parent == scene.folder
    sessions = scene.cli.json("sessions", "list")["sessions"]
    assert done["fork"]["session_id"] in [one["session_id"] for one in sessions]
    assert "adopted fork fork-1" in scene.cli.ok("ops").out

    scene.cli.ok("undo-restore")
    assert scene.read("parser") == "one\ntwo\nthree\nfour\nFIVE\n" and scene.read("ok") is None
    assert not Path(done["fork"]["path"]).exists()


def test_a_conflict_writes_nothing_and_adopts_no_conversation(scene: Turns) -> None:
    made, = fork(scene, "t2")
    save_in(scene, made, parser="one\ntwo\nthree\nfour\n5\n")
    before = tree_state(scene.cli.project)
    result = scene.cli.run("forks", "adopt", "fork-1", "--json")
    assert result.code == 3 and [c["path"] for c in result.data["conflicts"]] == ["parser.txt"]
    assert tree_state(scene.cli.project) == before and result.data["fork"] is None
    for words in ((), ("--dry-run",)):  # it takes no paths, so it does not say to name some
        told = scene.cli.run("forks", "adopt", "fork-1", *words)
        assert "--theirs" in told.out + told.err and "`--`" not in told.out + told.err
    scene.cli.ok("forks", "adopt", "fork-1", "--theirs")
    assert scene.read("parser") == "one\ntwo\nthree\nfour\n5\n"


def test_a_fork_that_is_removed_can_be_brought_back(scene: Turns) -> None:
    _, other = two_tries(scene)
    folder = Path(other["dir"])
    assert "Removed fork-2" in scene.cli.ok("forks", "remove", "fork-2").out
    assert not folder.exists() and not transcript(scene, other).exists()
    assert [lane["name"] for lane in scene.cli.json("forks", "list")["lanes"]] == ["fork-1"]
    if other["worktree"]:
        assert "fork-2" not in git(scene.cli.project, "worktree", "list", home=scene.cli.home)

    scene.cli.ok("forks", "undelete", "fork-2")
    assert (folder / "parser.txt").read_text() == "one\ntwo\nthree\nfour\nfive\nsix\n"
    assert transcript(scene, other).exists()
    there = json.loads(scene.cli.run("sessions", "list", "--json", cwd=folder).out)["sessions"]
    assert [one["session_id"] for one in there] == [other["session_id"]]


def test_forks_of_both_kinds_are_deleted_with_one_answer_or_none_is(scene: Turns) -> None:
    made, = fork(scene, "t3")
    session = scene.cli.json("back", "1")["fork"]["session_id"]
    scene.cli.fails(12, "forks", "delete", "fork-1", "ffffffff")
    assert Path(made["dir"]).exists()
    assert scene.cli.json("forks", "delete", "fork-1", session, "--dry-run")["sessions"] == [
        made["session_id"], session]
    assert Path(made["dir"]).exists()
    found = scene.cli.json("forks", "delete", "fork-1", session)
    assert found == {"action": "delete", "dryRun": False, "lanes": ["fork-1"],
                     "sessions": [made["session_id"], session]}
    assert not Path(made["dir"]).exists() and session in scene.cli.json("forks", "list")["trash"]


def test_of_two_forks_none_is_removed_if_one_of_them_holds_unsaved_work(scene: Turns) -> None:
    first, second = two_tries(scene)
    scene.cli.ok("config", "--set", "maxFileSizeMb=1")
    Path(second["dir"], "big").write_bytes(b"x" * (2 << 20))
    assert "is in no checkpoint" in scene.cli.fails(13, "forks", "remove", "fork-1", "fork-2")
    assert Path(first["dir"]).exists() and Path(second["dir"]).exists()
    said = scene.cli.ok("forks", "remove", "fork-1", "fork-2", "--force").out
    assert "Removed fork-1" in said and "Removed fork-2" in said
    assert not Path(first["dir"]).exists() and not Path(second["dir"]).exists()


def test_a_fork_that_went_back_to_before_it_began_has_no_turns(scene: Turns) -> None:
    made, = fork(scene, "t3")
    words = ["back", "1", "--in-place", "--force", "--session", made["session_id"]]
    assert scene.cli.run(*words, cwd=Path(made["dir"])).code == 0
    assert [lane["turns"] for lane in scene.cli.json("forks", "list")["lanes"]] == [0]


def test_how_to_continue_with_a_fork_is_shown_by_its_name(scene: Turns) -> None:
    made, = fork(scene, "t2")
    save_in(scene, made, parser="one\n")
    found = scene.cli.json("forks", "show", "fork-1")
    assert found["resume"] == made["resume"] and found["dir"] == made["dir"] and found["files"] == 1
    assert found == scene.cli.json("forks", "show", made["session_id"])
    assert made["resume"] in scene.cli.ok("forks", "show", "fork-1").out
    there = scene.cli.run("forks", "show", "fork-1", cwd=Path(made["dir"]))
    assert there.code == 0 and made["resume"] in there.out
    shutil.rmtree(made["dir"])
    assert scene.cli.json("forks", "show", "fork-1")["resume"] == ""
    assert "gone" in scene.cli.ok("forks", "show", "fork-1").out


def test_a_fork_that_is_removed_from_within_can_be_brought_back(scene: Turns) -> None:
    made, = fork(scene, "t2")
    folder = Path(made["dir"])
    assert "Removed fork-1" in scene.cli.run("forks", "remove", "fork-1", cwd=folder).out
    if made["worktree"]:
        assert "fork-1" not in git(scene.cli.project, "worktree", "list", home=scene.cli.home)
    scene.cli.ok("forks", "undelete", "fork-1")
    assert (folder / "parser.txt").read_text() == "one\ntwo\nthree\nfour\nfive\n"


def test_undoing_a_removal_brings_back_directory_and_conversation(scene: Turns) -> None:
    _, other = two_tries(scene)
    folder = Path(other["dir"])
    before = {path: one for path, one in tree_state(folder).items() if path != b".git"}
    scene.cli.ok("forks", "remove", "fork-2")
    assert "deleted fork fork-2" in scene.cli.ok("ops").out
    assert f"Would bring the fork's directory back: {folder}" in scene.cli.ok("undo-restore", "--dry-run").out
    assert not folder.exists()
    undone = scene.cli.ok("undo-restore")
    assert undone.err.startswith("Undid: deleted fork ")  # not only that something was undone, but what
    assert f"The fork's directory is back: {folder}" in undone.err
    assert undone.out == "Undone. No file of this project was changed.\n"
    assert {path: one for path, one in tree_state(folder).items() if path != b".git"} == before
    assert transcript(scene, other).exists()
    if other["worktree"]:
        assert "parser" in git(folder, "status", "--porcelain", home=scene.cli.home)
    scene.cli.ok("redo")
    assert not folder.exists() and not transcript(scene, other).exists()


def test_undoing_that_a_fork_came_back_keeps_what_was_done_there_since(scene: Turns) -> None:
    _, other = two_tries(scene)
    folder = Path(other["dir"])
    scene.cli.ok("forks", "remove", "fork-2")
    scene.cli.ok("forks", "undelete", "fork-2")
    (folder / "since.txt").write_text("since\n")
    assert "because it was changed" in scene.cli.run("undo-restore").err
    assert (folder / "since.txt").read_text() == "since\n"


def test_a_removal_leaves_nothing_beside_the_project(scene: Turns) -> None:
    made, = fork(scene, "t2")
    (Path(made["dir"]) / "read-only").mkdir()
    (Path(made["dir"]) / "read-only" / "x").write_text("x")
    (Path(made["dir"]) / "read-only").chmod(0o555)
    scene.cli.ok("forks", "remove", "fork-1")
    assert [name for name in os.listdir(scene.cli.project.parent) if "fork" in name] == []


def test_a_fork_that_was_never_finished_is_named_and_can_be_removed(
        scene: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def die(*args: object, **more: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:  # as if killed: no cleaning up
        patch.setattr("rewind.checkpoint.futures.known.half_made._clear_away", die)
        patch.setattr("rewind.checkpoint.futures.make.enter_place", die)
        with pytest.raises(Killed):
            scene.cli.run("fork", "t2")
    folder = Path(f"{os.path.realpath(scene.cli.project)}-fork-1")
    assert folder.is_dir()
    lane, = scene.cli.json("forks", "list")["lanes"]
    assert (lane["name"], lane["state"], lane["dir"]) == ("fork-1", "half-made", str(folder))
    assert "rewind forks remove fork-1" in scene.cli.ok("forks").err
    assert "rewind forks remove fork-1" in scene.cli.ok("status").out
    assert scene.cli.json("status")["unfinishedForks"] == [lane["problem"]]
    assert "interrupted" in scene.cli.fails(1, "forks", "adopt", "fork-1")
    (folder / "mine").write_text("not Rewind's")
    assert "mine is in no checkpoint" in scene.cli.fails(13, "forks", "remove", "fork-1")
    (folder / "mine").unlink()
    scene.cli.ok("forks", "remove", "fork-1")
    assert not folder.exists() and scene.cli.json("forks", "list")["lanes"] == []
    made, = fork(scene, "t2")
    assert made["dir"] == str(folder)


def test_work_that_nothing_holds_is_not_removed(scene: Turns) -> None:
    made, = fork(scene, "t2")
    if made["worktree"]:
        Path(made["dir"], "more").write_text("x")
        git(Path(made["dir"]), "add", "-A", home=scene.cli.home)
        git(Path(made["dir"]), "commit", "-q", "-m", "work", home=scene.cli.home)
        assert "is on no branch" in scene.cli.fails(13, "forks", "remove", "fork-1")
        git(Path(made["dir"]), "branch", "keep", home=scene.cli.home)
    scene.cli.ok("config", "--set", "maxFileSizeMb=1")
    Path(made["dir"], "big").write_bytes(b"x" * (2 << 20))
    assert "big is in no checkpoint" in scene.cli.fails(13, "forks", "remove", "fork-1")
    assert Path(made["dir"], "big").exists()
    scene.cli.ok("forks", "remove", "fork-1", "--force")
    assert not Path(made["dir"]).exists()


def test_a_fork_in_which_a_client_is_open_stays(scene: Turns) -> None:
    made, = fork(scene, "t2")
    client_is_running(scene.cli.home, made["session_id"])
    assert "An agent is open in the fork fork-1" in scene.cli.fails(13, "forks", "remove", "fork-1")
    assert scene.cli.json("forks", "list")["lanes"][0]["running"] is True


def test_half_a_note_of_a_killed_fork_is_swept_by_the_next_one(scene: Turns) -> None:
    notes = scene.cli.state / "making"
    notes.mkdir()
    (notes / ".00000000-0000-4000-8000-000000000000.json.1.tmp").write_text("{")
    fork(scene, "t2")
    assert os.listdir(notes) == []


# what cannot be

@pytest.mark.parametrize(("args", "code", "said"), [
    (["t99"], 12, "99"),
    (["t2", "-n", "0"], 2, "Cannot make 0 forks"),
    (["t2", "-n", "21"], 2, "Cannot make 21 forks"),
    (["t2", "--name", "../x"], 2, "cannot be called"),
    (["t2", "--to", "."], 2, "a directory of its own"),
    (["t2", "--link", "--copy"], 2, "exclude each other"),
    (["last", "--session", "x"], 2, "goes with a turn"),
])
def test_bad_input_is_answered_with_a_sentence(scene: Turns, args: list[str], code: int, said: str) -> None:
    assert said in scene.cli.fails(code, "fork", *args)
    assert scene.cli.json("forks", "list")["lanes"] == []


def test_a_directory_that_is_not_empty_is_left_alone(scene: Turns, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("x")
    assert "not an empty directory" in scene.cli.fails(1, "fork", "t2", "--to", str(tmp_path / "full"))
    assert os.listdir(tmp_path / "full") == ["mine"]


def test_unknown_names_are_said(scene: Turns) -> None:
    said = scene.cli.fails(12, "forks", "adopt", "nope")
    assert 'No fork with a directory of its own is called "nope".' in said
    assert 'called "nope"' in scene.cli.fails(12, "forks", "compare", "nope", "no")
