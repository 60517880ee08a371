"""Which project a directory is: moved, copied, made anew, cloned, reached by another path."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

from hook_scene import entry_command, run_hook
from make_transcripts import ClaudeTalk
from rewind.controller import Controller
from rewind.paths import find_project
from rewind.project_marker import NAME, write_marker
from rewind_cli import Rewind, differences, git, tree_state

pytestmark = pytest.mark.slow

SESSION = "5e550000-0000-4000-8000-000000000001"


@pytest.fixture(params=["git", "plain"])
def saved(rewind: Rewind, request: pytest.FixtureRequest) -> Rewind:
    """A project with two checkpoints, in global storage."""
    if request.param == "git":
        git(rewind.project, "init", "-q", home=rewind.home)
    (rewind.project / "src").mkdir()
    (rewind.project / "src" / "a.py").write_text("one\n")
    rewind.init()
    (rewind.project / "src" / "a.py").write_text("two\n")
    rewind.save("two")
    return rewind


def at(rewind: Rewind, folder: Path) -> Rewind:
    return Rewind(folder, rewind.home)


def index(rewind: Rewind) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((rewind.home / ".rewind" / "known-stores.json").read_text())["stores"]
    return found


def hook(rewind: Rewind, action: str, session: str = "s-1", **fields: Any) -> dict[str, Any]:
    event = "".join(word.title() for word in action.split("-"))
    payload = {"session_id": session, "cwd": str(rewind.project), "hook_event_name": event, "transcript_path":
               str(rewind.home / ".claude/projects/-p" / f"{session}.jsonl"), **fields}
    done = run_hook(entry_command(action), json.dumps(payload).encode(), rewind.home, Path("/"),
                    CLAUDECODE="1", CLAUDE_PROJECT_DIR=str(rewind.project))
    assert done.code == 0
    return {"err": done.err, **(json.loads(done.out) if done.out else {})}


def test_the_store_is_outside_the_project_by_default(saved: Rewind) -> None:
    assert saved.state.parent == saved.home / ".rewind" / "storage"
    assert saved.json("status")["mode"] == "global"
    assert saved.state.name == json.loads((saved.state / "store.json").read_text())["id"]


def test_what_is_removed_with_the_project_comes_back(saved: Rewind) -> None:
    was = tree_state(saved.project)
    shutil.rmtree(saved.project)
    saved.project.mkdir()
    said = saved.run("restore", "last")
    assert said.code == 0 and "created again" in said.err
    assert differences(was, tree_state(saved.project)) == {}
    assert "created again" not in saved.run("list").err, "said once"


def test_a_moved_project_is_found_again_and_a_person_is_told_once(saved: Rewind, tmp_path: Path) -> None:
    names = saved.names()
    os.rename(saved.project, tmp_path / "moved")
    moved = at(saved, tmp_path / "moved")
    first = moved.run("list")
    assert f"moved here from {saved.project}" in first.err and names[0] in first.out
    assert moved.run("list").err == "" and moved.names() == names
    os.rename(tmp_path / "moved", saved.project)
    assert saved.names() == names, "and back again"


def test_a_project_that_takes_the_place_of_another_one_brings_its_checkpoints(
        saved: Rewind, tmp_path: Path) -> None:
    """`rm -rf app; mv app-new app`"""
    was = tree_state(saved.project)
    new = at(saved, tmp_path / "new")
    new.project.mkdir()
    (new.project / "b.py").write_text("b\n")
    new.init()
    names, state = new.names(), saved.state
    shutil.rmtree(saved.project)
    os.rename(new.project, saved.project)
    first = saved.run("list")
    assert f"moved here from {new.project}" in first.err and names[0] in first.out
    assert saved.names() == names and "moved" not in saved.run("list").err
    replaced, = saved.json("projects", "--missing")["projects"]
    assert replaced["state"] == str(state) and str(state) in saved.ok("projects").out
    back = tmp_path / "back"
    saved.ok("-C", str(state), "restore", "last", "--to", str(back))
    assert differences(was, tree_state(back)) == {}, "the other one's are kept"


def test_the_directory_of_a_store_names_its_project_also_inside_another_one(
        home: Path, tmp_path: Path) -> None:
    around, inner = tmp_path / "around", tmp_path / "inner"
    rewind_home = str(around / "rewind-home")
    for folder in (around, inner):
        folder.mkdir()
        controller, _ = Controller.init(str(folder), mode="global", home=rewind_home)
        state = controller.state.project.state
        controller.close()
    found = Controller(state, home=rewind_home)
    assert found.project.root == str(inner)
    found.close()


def test_projects_that_change_places_keep_their_checkpoints(saved: Rewind, tmp_path: Path) -> None:
    other = at(saved, tmp_path / "other")
    other.project.mkdir()
    (other.project / "b.py").write_text("b\n")
    other.init()
    mine, others = saved.names(), other.names()
    os.rename(saved.project, tmp_path / "between")
    os.rename(other.project, saved.project)
    os.rename(tmp_path / "between", other.project)
    assert saved.names() == others and other.names() == mine
    assert saved.names() == others and other.names() == mine


def test_a_copy_where_a_project_was_is_that_project_also_when_its_original_moves(
        saved: Rewind, tmp_path: Path) -> None:
    other = at(saved, tmp_path / "other")
    other.project.mkdir()
    (other.project / "b.py").write_text("b\n")
    other.init()
    names = saved.names()
    shutil.rmtree(saved.project)
    shutil.copytree(other.project, saved.project)
    assert saved.names() == names, "the original is still there"
    os.rename(other.project, tmp_path / "moved")
    assert saved.names() == names


def test_a_copy_with_a_store_of_its_own_keeps_it_where_it_goes(rewind: Rewind, tmp_path: Path) -> None:
    rewind.init("project")
    shutil.copytree(rewind.project, tmp_path / "copy", symlinks=True)
    copy = at(rewind, tmp_path / "copy")
    copy.init()
    copy.save("in the copy")
    names = copy.names()
    shutil.rmtree(rewind.project)
    os.rename(copy.project, tmp_path / "moved")
    assert at(rewind, tmp_path / "moved").names() == names


@pytest.mark.parametrize("how", ["init", "hook"])
def test_a_new_project_where_one_was_moved_away_gets_a_store_of_its_own(
        saved: Rewind, tmp_path: Path, how: str) -> None:
    names = saved.names()
    os.rename(saved.project, tmp_path / "moved")
    moved = at(saved, tmp_path / "moved")
    assert moved.names() == names
    saved.project.mkdir()
    git(saved.project, "init", "-q", home=saved.home)
    if how == "init":
        saved.init()
    else:
        hook(saved, "user-prompt-submit", prompt="Go on", prompt_id="p")
    assert len(saved.names()) == 1 and saved.state != moved.state
    assert moved.names() == names, "it is protected as before"


def test_a_hook_finds_a_moved_project_and_tells_at_the_next_start(saved: Rewind, tmp_path: Path) -> None:
    os.rename(saved.project, tmp_path / "moved")
    moved = at(saved, tmp_path / "moved")
    assert hook(moved, "user-prompt-submit", prompt="Go on", prompt_id="p") == {"err": ""}
    assert "moved here from" in hook(moved, "session-start", source="startup")["systemMessage"]
    assert "systemMessage" not in hook(moved, "session-start", source="resume")
    assert len(moved.names()) == 4 and len(index(moved)) == 1


def test_a_moved_project_has_its_sessions_and_how_to_resume_them(saved: Rewind, tmp_path: Path) -> None:
    folder = saved.home / ".claude" / "projects" / "".join(
        c if c.isalnum() else "-" for c in str(saved.project))
    folder.mkdir(parents=True)
    (saved.home / ".claude" / "sessions").mkdir()
    talk = ClaudeTalk(SESSION)
    for text in ("First", "Second"):
        talk.turn(text)
    lines = [{**json.loads(line), "cwd": str(saved.project)} for line in talk.lines]
    (folder / f"{SESSION}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.rename(saved.project, tmp_path / "moved")
    moved = at(saved, tmp_path / "moved")
    assert [s["session_id"] for s in moved.json("sessions", "list")["sessions"]] == [SESSION]
    fork = moved.json("back", "1")["fork"]
    assert fork["resume"].startswith(f"cd {tmp_path / 'moved'} && ")


def test_a_copy_gets_a_store_of_its_own(saved: Rewind, tmp_path: Path) -> None:
    names = saved.names()
    shutil.copytree(saved.project, tmp_path / "copy", symlinks=True)
    copy = at(saved, tmp_path / "copy")
    assert copy.run("list").code == 10, "a copy is not the project"
    copy.init()
    (copy.project / "src" / "a.py").write_text("in the copy\n")
    copy.save()
    assert saved.names() == names and copy.state != saved.state
    assert len(index(saved)) == 2


def test_hooks_protect_a_copied_repository(rewind: Rewind, tmp_path: Path) -> None:
    git(rewind.project, "init", "-q", home=rewind.home)
    rewind.init()
    shutil.copytree(rewind.project, tmp_path / "copy")
    copy = at(rewind, tmp_path / "copy")
    hook(copy, "user-prompt-submit", prompt="Go on", prompt_id="p")
    assert len(copy.names()) == 1 and copy.state != rewind.state


def test_the_copy_takes_over_once_the_original_is_gone(saved: Rewind, tmp_path: Path) -> None:
    names = saved.names()
    shutil.copytree(saved.project, tmp_path / "copy", symlinks=True)
    shutil.rmtree(saved.project)
    assert at(saved, tmp_path / "copy").names() == names


@pytest.mark.parametrize("how", ["hook", "init", "init --trust"])
def test_a_copied_state_directory_is_used_only_when_it_is_trusted(
        rewind: Rewind, tmp_path: Path, how: str) -> None:
    git(rewind.project, "init", "-q", home=rewind.home)
    rewind.init("project")
    rewind.save("so that it has one more than a new one")  # whose first may be made in the same second
    names = rewind.names()
    shutil.copytree(rewind.project, tmp_path / "copy", symlinks=True)
    copy = at(rewind, tmp_path / "copy")
    was = tree_state(copy.project / ".agent" / "rewind")
    if how == "hook":
        said = hook(copy, "session-start", source="startup")
        assert "is a copy" in said["systemMessage"] and "rewind init --trust" in said["systemMessage"]
    else:
        copy.ok(*how.split())
    trusted = how.endswith("--trust")
    assert (copy.state == copy.project / ".agent" / "rewind") == trusted
    assert (copy.names() == names) == trusted and rewind.names() == names
    if not trusted:
        assert tree_state(copy.project / ".agent" / "rewind") == was
        copy.ok("init", "--trust")
        assert copy.names() == names


def test_a_marker_that_a_clone_brings_along_is_ignored(saved: Rewind, tmp_path: Path) -> None:
    """Whoever made the repository could name someone's other store."""
    store_id = saved.state.name
    shutil.rmtree(saved.project)
    evil = tmp_path / "evil"
    (evil / "sub" / ".agent").mkdir(parents=True)
    (evil / "sub" / ".agent" / NAME).write_text(store_id + "\n")
    git(evil, "init", "-q", home=saved.home)
    git(evil, "add", "-A", home=saved.home)
    git(evil, "commit", "-qm", "one", home=saved.home)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(evil), str(clone), home=saved.home)
    assert find_project(str(clone / "sub"), str(saved.home / ".rewind")) is None
    git(clone, "rm", "-q", "--cached", f"sub/.agent/{NAME}", home=saved.home)
    assert find_project(str(clone / "sub"), str(saved.home / ".rewind")) is not None, "the test can fail"


def test_a_marker_that_names_nothing_known_changes_nothing(saved: Rewind, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".agent").mkdir(parents=True)
    for text in ("f" * 32, "../../../etc", "x" * 5000, "", "\0"):
        (other / ".agent" / NAME).write_text(text)
        assert find_project(str(other), str(saved.home / ".rewind")) is None


def test_a_link_to_the_project_is_the_project(saved: Rewind, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(saved.project)
    linked = at(saved, tmp_path / "link")
    assert linked.names() == saved.names() and len(index(saved)) == 1


@pytest.fixture
def mounted(saved: Rewind, tmp_path: Path) -> Iterator[Rewind]:
    target = tmp_path / "mounted"
    target.mkdir()
    done = subprocess.run(["mount", "--bind", str(saved.project), str(target)], capture_output=True)
    if done.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        yield at(saved, target)
    finally:
        subprocess.run(["umount", str(target)], check=True)


def test_a_bind_mount_is_the_same_project_and_nobody_is_told_that_it_moved(
        saved: Rewind, mounted: Rewind) -> None:
    assert mounted.run("list").err == ""
    name = mounted.save("by the other path")
    assert saved.names()[0] == name and saved.run("list").err == "" and mounted.run("list").err == ""
    assert len(index(saved)) == 1


def test_the_projects_are_listed_also_one_that_is_gone(saved: Rewind, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    saved.ok("init", "-C", str(other))
    was = tree_state(saved.project)
    shutil.rmtree(saved.project)
    answer = Rewind(other, saved.home).json("projects")["projects"]
    assert {(one["root"], one["exists"]) for one in answer} == {(str(saved.project), False),
                                                                (str(other), True)}
    there = next(one for one in answer if not one["exists"])
    assert there["checkpoints"] == 2 and there["mode"] == "global" and os.path.isdir(there["state"])
    said = Rewind(other, saved.home).ok("-C", str(saved.project), "restore", "last", "--to",
                                        str(tmp_path / "back"))
    assert said.code == 0 and differences(was, tree_state(tmp_path / "back")) == {}
    assert "directory gone" in Rewind(other, saved.home).ok("projects", "--missing").out


def test_a_directory_that_never_was_a_project_is_still_an_error(saved: Rewind) -> None:
    saved.fails(1, "-C", str(saved.project / "no-such"), "list")


# never silently unprotected

def test_with_a_fresh_home_the_person_is_told_how_to_use_the_store(rewind: Rewind, tmp_path: Path) -> None:
    rewind.init("project")
    fresh = Rewind(rewind.project, tmp_path / "fresh")
    fresh.home.mkdir()
    said = hook(fresh, "session-start", source="startup")["systemMessage"]
    assert "not made by you on this machine" in said and "`rewind init --trust`" in said
    assert hook(fresh, "session-start", source="resume") == {"err": ""}, "once per session"
    assert "not made by you" in (fresh.home / ".rewind" / "rewind.log").read_text()
    fresh.ok("init", "--trust")
    hook(fresh, "user-prompt-submit", prompt="Go on", prompt_id="p")
    assert len(fresh.names()) == 2


def test_an_index_that_is_lost_is_no_lost_store(saved: Rewind) -> None:
    names = saved.names()
    (saved.home / ".rewind" / "known-stores.json").unlink()
    assert saved.fails(1, "list", hint="--trust")
    saved.ok("init", "--trust")
    assert saved.names() == names


def test_a_store_that_lost_its_name_is_told_and_mended(saved: Rewind) -> None:
    names, state = saved.names(), saved.state
    (state / "store.json").unlink()
    said = hook(saved, "session-start", source="startup")["systemMessage"]
    assert "store.json is missing" in said and "`rewind init --trust`" in said
    assert saved.run("init").code == 20
    saved.ok("init", "--trust")
    assert saved.state == state and saved.names() == names


def test_a_home_that_cannot_be_written_is_told_at_the_start_of_a_session(user: Optional[Rewind]) -> None:
    if user is None:
        pytest.skip("no ordinary user here")
    git(user.project, "init", "-q", home=user.project)
    user.home.chmod(0o555)
    entry = Path(user.command[-1]).parent.parent / "src" / "rewind" / "hooks" / "start.py"
    payload = {"session_id": "s-1", "cwd": str(user.project), "hook_event_name": "SessionStart",
               "source": "startup", "transcript_path": str(user.home / ".claude/projects/-p/s-1.jsonl")}
    done = subprocess.run([*user.command[:-1], str(entry), "session-start"], cwd="/", capture_output=True,
                          env={**user.env, "CLAUDECODE": "1"}, input=json.dumps(payload).encode())
    said = json.loads(done.stdout)["systemMessage"]
    assert done.returncode == 0 and "Permission denied" in said and "`rewind doctor`" in said


def test_what_root_makes_in_the_home_of_a_user_stays_the_users(user: Optional[Rewind]) -> None:
    if user is None or os.geteuid():
        pytest.skip("only root can leave files that are not the user's")
    user.init()
    other = user.project.parent / "other"
    other.mkdir()
    Rewind(other, user.home).init()  # as `sudo -E rewind init` does it
    owners = {os.lstat(path).st_uid for path in (user.home / ".rewind").rglob("*")}
    assert owners == {os.stat(user.home).st_uid} and user.save()


def test_what_a_process_left_that_was_killed_while_it_wrote_the_marker_goes(tmp_path: Path) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    (tmp_path / ".agent").mkdir()
    (tmp_path / ".agent" / f".{NAME}.{dead.pid}.tmp").touch()
    (tmp_path / ".agent" / f".{NAME}.{os.getppid()}.tmp").touch()  # of one that still writes
    write_marker(str(tmp_path), "0" * 32)
    assert sorted(os.listdir(tmp_path / ".agent")) == [f".{NAME}.{os.getppid()}.tmp", NAME]
