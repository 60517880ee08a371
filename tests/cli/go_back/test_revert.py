"""`rewind revert` and `rewind apply`: one turn taken back or brought over, and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from chat_scene import SESSION, Claude, Turns
from cli.conftest import InProcess
from rewind.agents.registry import profile_for
from rewind.checkpoint.operation_log.operations import Operations
from rewind.checkpoint.project.locked import locked
from rewind.controller import Controller
from rewind.errors import RewindError
from rewind.transcript.read.chain import Tail
from rewind.transcript.read.lines import open_transcript
from rewind_cli import differences, interrupt, paths_of, tree_state

LINES = "".join(f"line {n}\n" for n in range(1, 31))


class Edited(Turns):
    def edit(self, name: str, old: str, new: str) -> str:
        found = self.read(name)
        assert found is not None and old in found
        return found.replace(old, new)


@pytest.fixture
def scene(cli: InProcess) -> Edited:
    """Turn 1 makes a file, turn 2 changes a line and adds a file, turn 3 changes another line."""
    scene = Edited(cli)
    scene.turn("Write it", a=LINES)
    scene.turn("Add a cache", a=scene.edit("a", "line 5\n", "cached 5\n"), cache="a cache\n")
    scene.turn("Fix the end", a=scene.edit("a", "line 25\n", "fixed 25\n"))
    return scene


def unchanged(scene: Edited) -> tuple[Any, ...]:
    """Everything that a command which did nothing leaves alone."""
    log = scene.cli.state / "operations.jsonl"
    return (tree_state(scene.cli.project), scene.agent_files(), scene.cli.names(backups=True),
            log.read_bytes() if log.exists() else b"")


def conflicts(data: dict[str, Any]) -> dict[str, str]:
    return {one["path"]: one["reason"] for one in data["conflicts"]}


# taking back

def test_a_turn_is_taken_back_and_everything_later_stays(scene: Edited) -> None:
    chats = scene.agent_files()
    result = scene.cli.ok("revert", "t2")
    assert scene.read("a") == LINES.replace("line 25\n", "fixed 25\n")
    assert scene.read("cache") is None
    assert 'Reverted turn 2, "Add a cache"' in result.out
    assert "I reverted your change to a.txt, cache.txt" in result.err
    assert "To undo: rewind undo-restore" in result.err
    assert scene.agent_files() == chats  # the conversation stays as it is


def test_the_last_turn_is_taken_back_although_it_has_no_end_yet(scene: Edited) -> None:
    scene.save("UserPromptSubmit", promptId="p4", promptText="More")
    scene.do("More", more="more\n", a=scene.edit("a", "line 9\n", "9\n"))
    scene.cli.ok("revert", "t4")
    assert scene.read("more") is None and "line 9\n" in (scene.read("a") or "")


def test_unsaved_edits_stay_and_are_in_the_backup(scene: Edited) -> None:
    scene.write(a=scene.edit("a", "line 15\n", "by hand\n"), mine="mine\n")
    was = tree_state(scene.cli.project)
    data = scene.cli.json("revert", "t2")
    assert "by hand\n" in (scene.read("a") or "") and "cached" not in (scene.read("a") or "")
    assert scene.read("mine") == "mine\n" and data["backup"]
    scene.cli.ok("undo-restore")
    assert not differences(was, tree_state(scene.cli.project))


def test_undo_and_redo_go_over_it_as_over_any_step(scene: Edited) -> None:
    was = tree_state(scene.cli.project)
    scene.cli.ok("revert", "t2")
    after = tree_state(scene.cli.project)
    for there, back in (("undo-restore", "redo"), ("undo", "redo")):
        scene.cli.ok(there)
        assert not differences(was, tree_state(scene.cli.project)), there
        scene.cli.ok(back)
        assert not differences(after, tree_state(scene.cli.project)), back


def test_the_result_is_a_checkpoint_and_the_project_stands_there(scene: Edited) -> None:
    here = scene.controller().here()
    data = scene.cli.json("revert", "t2")
    found = scene.controller().find("last")
    assert found.name == data["checkpoint"] and found.parent == (here and here.name)
    assert scene.cli.json("list")["checkpoints"][0]["description"] == 'Reverted turn 2, "Add a cache"'
    now = scene.controller().here()
    assert now and now.name == found.name
    saved = scene.save("Stop")
    assert [found.code[key] for key in ("tree", "fileCount", "totalSize")] == [
        saved.code[key] for key in ("tree", "fileCount", "totalSize")]
    assert saved.parent == found.name


def test_what_was_done_is_in_the_log(scene: Edited) -> None:
    scene.cli.ok("revert", "t2")
    scene.cli.ok("apply", "t2")
    texts = [op["text"] for op in scene.cli.json("ops")["operations"]]
    assert texts[:2] == ['applied turn 2, "Add a cache"', 'reverted turn 2, "Add a cache"']


def test_several_turns_in_one_go(scene: Edited) -> None:
    scene.cli.ok("revert", "t3", "t2")
    assert scene.read("a") == LINES and scene.read("cache") is None
    scene.cli.ok("undo-restore")
    scene.cli.ok("revert", "t2..t3")
    assert scene.read("a") == LINES


def test_several_turns_in_one_go_where_files_are_stored_in_pieces(scene: Edited,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("scan.read", "merge.tree_merge"):
        monkeypatch.setattr(f"rewind.snapshot.{module}.CHUNK", 100)
    scene.write(a=scene.edit("a", "line 15\n", "by hand\n"))
    scene.cli.ok("revert", "t3", "t2")
    assert scene.read("a") == LINES.replace("line 15\n", "by hand\n")


def test_only_some_paths(scene: Edited) -> None:
    data = scene.cli.json("revert", "t2", "--", "cache.txt")
    assert paths_of(data["deleted"]) == {b"cache.txt"} and not data["written"]
    assert "cached 5" in (scene.read("a") or "")


def test_two_checkpoints_name_what_changed_between_them(scene: Edited) -> None:
    names = scene.cli.names()
    scene.cli.ok("revert", f"{names[2]}..{names[0]}")
    assert scene.read("cache") == "a cache\n" and "fixed" not in (scene.read("a") or "")


def test_nothing_is_left_to_take_back(scene: Edited) -> None:
    scene.cli.ok("revert", "t2")
    was = unchanged(scene)
    result = scene.cli.ok("revert", "t2")
    assert result.out.startswith("Nothing to revert") and unchanged(scene) == was


def test_a_deleted_file_comes_back_with_its_directory_mode_and_link(scene: Edited) -> None:
    top = scene.cli.project / "deep" / "er"
    top.mkdir(parents=True)
    (top / "tool").write_text("#!/bin/sh\n")
    (top / "tool").chmod(0o750)
    (top / "link").symlink_to("tool")
    scene.turn("Nothing much")
    was = tree_state(scene.cli.project)
    scene.save("UserPromptSubmit", promptId="p5", promptText="Clean up")
    for path in (top / "tool", top / "link"):
        path.unlink()
    top.rmdir()
    top.parent.rmdir()
    scene.say("Clean up")
    scene.save("Stop", promptId="p5")
    scene.cli.ok("revert", "t5")
    assert not differences(was, tree_state(scene.cli.project))


def test_an_ignored_file_that_the_turn_made_goes(scene: Edited) -> None:
    (scene.cli.project / ".gitignore").write_text("*.log\n")
    os.mkdir(scene.cli.project / ".git")
    scene.save("UserPromptSubmit", promptId="p4", promptText="Log it")
    (scene.cli.project / "out.log").write_text("x\n")
    scene.say("Log it")
    scene.save("Stop", promptId="p4")
    was = tree_state(scene.cli.project)
    scene.cli.ok("revert", "t4")
    assert not (scene.cli.project / "out.log").exists()
    scene.cli.ok("undo-restore")
    assert not differences(was, tree_state(scene.cli.project))


def test_an_ignored_directory_that_the_turn_made_goes(scene: Edited) -> None:
    (scene.cli.project / ".gitignore").write_text("out/\n")
    os.mkdir(scene.cli.project / ".git")
    scene.save("UserPromptSubmit", promptId="p4", promptText="Build it")
    (scene.cli.project / "out" / "deep").mkdir(parents=True)
    (scene.cli.project / "out" / "deep" / "x").write_text("x\n")
    scene.say("Build it")
    scene.save("Stop", promptId="p4")
    was = tree_state(scene.cli.project)
    scene.cli.ok("revert", "t4")
    assert not (scene.cli.project / "out").exists()
    scene.cli.ok("undo-restore")
    assert not differences(was, tree_state(scene.cli.project))


def test_a_prompt_does_not_steer_the_terminal_or_the_file(scene: Edited) -> None:
    scene.turn("Be \x1b[31mred\nor not", a=scene.edit("a", "line 9\n", "nine\n"))
    scene.turn("Nine", a=scene.edit("a", "nine\n", "IX\n"))
    result = scene.cli.run("revert", "t4", "--markers")
    assert result.code == 3 and "\x1b" not in result.out + result.err + (scene.read("a") or "")
    assert '>>>>>>> before turn 4: "Be [31mred or not"' in (scene.read("a") or "")


def test_what_was_not_captured_stays_and_is_named(scene: Edited) -> None:
    scene.save("UserPromptSubmit", promptId="p4", promptText="Install")
    (scene.cli.project / "node_modules" / "x").mkdir(parents=True)
    (scene.cli.project / "node_modules" / "x" / "index.js").write_text("x")
    scene.do("Install", b="b\n")
    scene.save("Stop", promptId="p4")
    data = scene.cli.json("revert", "t4")
    assert (scene.cli.project / "node_modules" / "x" / "index.js").exists() and scene.read("b") is None
    assert [one["reason"] for one in data["kept"]] == ["skip-list"]


def test_odd_names_and_a_plan_as_json(scene: Edited) -> None:
    name = os.fsencode(scene.cli.project) + b"/caf\xe9"
    scene.save("UserPromptSubmit", promptId="p4", promptText="Odd")
    Path(os.fsdecode(name)).write_bytes(b"\xff\n")
    scene.say("Odd")
    scene.save("Stop", promptId="p4")
    was = unchanged(scene)
    data = scene.cli.json("revert", "t4", "--dry-run")
    assert paths_of(data["deleted"]) == {b"caf\xe9"} and data["dryRun"] and unchanged(scene) == was
    assert {"operation", "checkpoint", "backup", "written", "deleted", "kept", "conflicts", "fork", "notes",
            "dryRun"} <= set(data)
    done = scene.cli.json("revert", "t4")
    assert set(data) - {"digest"} == set(done) and done["note"].startswith("I reverted your change to caf")


def test_checkpoints_in_archives(cli: InProcess) -> None:
    (cli.home / ".rewind").mkdir()
    (cli.home / ".rewind" / "config.json").write_text(json.dumps({"storage": {"format": "archive"}}))
    scene = Edited(cli)
    scene.turn("Write it", a=LINES, other="other\n")
    scene.turn("Add a cache", a=scene.edit("a", "line 5\n", "cached 5\n"), cache="a cache\n")
    scene.save("UserPromptSubmit", promptId="p3", promptText="Delete it")
    (cli.project / "other.txt").unlink()
    scene.say("Delete it")
    scene.save("Stop", promptId="p3")
    scene.turn("Fix the end", a=scene.edit("a", "line 25\n", "fixed 25\n"))
    was = tree_state(cli.project)
    name = cli.json("revert", "t2", "t3")["checkpoint"]
    assert scene.read("a") == LINES.replace("line 25\n", "fixed 25\n") and scene.read("cache") is None
    after = tree_state(cli.project)
    cli.ok("undo-restore")
    assert not differences(was, tree_state(cli.project))
    cli.ok("restore", name, "--code-only")
    assert not differences(after, tree_state(cli.project))
    assert cli.json("validate", "--deep")["ok"]


# conflicts

@pytest.fixture
def clashing(scene: Edited) -> Edited:
    """What turn 2 did was changed by turn 4, in either of its files; turn 4 did more besides."""
    scene.turn("Change the cache", a=scene.edit("a", "cached 5\n", "cached differently\n"),
               cache="a better cache\n", more="more\n")
    return scene


def test_where_there_is_a_conflict_nothing_is_written(clashing: Turns) -> None:
    was = unchanged(clashing)
    result = clashing.cli.run("revert", "t2")
    assert result.code == 3 and "2 conflicts: nothing was written." in result.out
    assert "line 5" in result.err and "--markers" in result.err
    data = clashing.cli.json("revert", "t2", code=3)
    assert conflicts(data) == {"a.txt": "both-changed", "cache.txt": "changed-since"}
    assert data["conflicts"][0]["lines"] == [{"first": 5, "count": 1}]
    assert not data["written"] and not data["operation"] and not data["checkpoint"]
    plan = clashing.cli.json("revert", "t2", "--dry-run", code=3)
    assert conflicts(plan) == conflicts(data)
    assert unchanged(clashing) == was


def test_a_conflict_says_what_was_done_there(clashing: Turns) -> None:
    """Taking back deletes what the turn added; bringing over deletes what the turn deleted."""
    assert "cache.txt  (conflict: added there and changed since)" in clashing.cli.run("revert", "t2").err
    first, last = clashing.cli.names()[-1], clashing.cli.names()[0]
    (clashing.cli.project / "cache.txt").write_text("again\n")
    result = clashing.cli.run("apply", f"{last}..{first}")
    assert result.code == 3 and "cache.txt  (conflict: deleted there and changed here)" in result.err


def test_the_other_paths_can_be_named(clashing: Turns) -> None:
    clashing.turn("Later", later="1\n")
    clashing.turn("Later still", later="2\n", last="3\n")
    assert clashing.cli.json("revert", "t5", code=3)["conflicts"]
    clashing.cli.ok("revert", "t6", "--", "last.txt")
    assert clashing.read("last") is None and clashing.read("later") == "2\n"


def test_markers_are_written_where_they_can_be(clashing: Turns) -> None:
    was = unchanged(clashing)
    assert conflicts(clashing.cli.json("revert", "t2", "--markers", code=3)) == {"cache.txt": "changed-since"}
    assert unchanged(clashing) == was
    result = clashing.cli.run("revert", "t2", "--markers", "--", "a.txt")
    assert result.code == 3 and "marked in the file" in result.err
    assert ('<<<<<<< now\ncached differently\n=======\nline 5\n>>>>>>> before turn 2: "Add a cache"\n'
            in (clashing.read("a") or ""))
    clashing.cli.ok("undo-restore")
    assert tree_state(clashing.cli.project) == was[0]


def test_one_side_can_be_taken(clashing: Turns) -> None:
    data = clashing.cli.json("revert", "t2", "--theirs")
    assert clashing.read("cache") is None and "line 5\n" in (clashing.read("a") or "")
    assert "fixed 25\n" in (clashing.read("a") or "") and len(data["settled"]) == 2
    clashing.cli.ok("undo-restore")
    data = clashing.cli.json("revert", "t2", "--ours")
    assert not data["written"] and not data["operation"]
    assert clashing.read("cache") == "a better cache\n"


def test_a_conflict_over_lines_that_are_gone_says_where_they_were(scene: Edited) -> None:
    scene.write(a=scene.edit("a", "cached 5\n", ""))
    result = scene.cli.run("revert", "t2")
    assert result.code == 3 and "before line 5" in result.err
    assert scene.cli.json("revert", "t2", code=3)["conflicts"][0]["lines"] == [{"first": 5, "count": 0}]


def test_a_binary_conflict(scene: Edited) -> None:
    for number, byte in enumerate((b"\0one", b"\0two", b"\0three"), 4):
        scene.save("UserPromptSubmit", promptId=f"p{number}", promptText="Draw")
        (scene.cli.project / "picture").write_bytes(byte)
        scene.say("Draw")
        scene.save("Stop", promptId=f"p{number}")
    was = unchanged(scene)
    data = scene.cli.json("revert", "t5", "--markers", code=3)
    assert conflicts(data) == {"picture": "both-changed-binary"} and unchanged(scene) == was
    scene.cli.ok("revert", "t5", "--theirs")
    assert (scene.cli.project / "picture").read_bytes() == b"\0one"


def test_a_file_over_the_limit(scene: Edited) -> None:
    scene.cli.ok("config", "--set", "maxFileSizeMb=1")
    scene.turn("Make it", big="small\n")
    scene.turn("Make it big", big="x" * (2 << 20))
    was = unchanged(scene)
    assert conflicts(scene.cli.json("revert", "t5", code=3)) == {"big.txt": "too-large"}
    assert unchanged(scene) == was
    scene.cli.ok("revert", "t5", "--theirs")
    assert scene.read("big") == "small\n"


# bringing over

def test_a_reverted_turn_can_be_applied_again(scene: Edited) -> None:
    was = tree_state(scene.cli.project)
    scene.cli.ok("revert", "t2")
    scene.cli.ok("apply", "t2")
    assert not differences(was, tree_state(scene.cli.project))
    assert scene.cli.ok("apply", "t2").out.startswith("Nothing to apply")


@pytest.fixture
def fork(scene: Edited) -> str:
    """A fork after turn 2 that did another thing, while the project went on with turn 3."""
    path = Path(scene.cli.json("back", "1", "--both")["fork"]["path"])
    mine, scene.path, scene.talk = (scene.path, scene.talk), path, go_on_in(scene, path)
    scene.save("UserPromptSubmit", promptId="p11", promptText="Another way")
    (scene.cli.project / "tests").mkdir()
    (scene.cli.project / "tests" / "test_a.py").write_text("def test(): ...\n")
    scene._written = 0
    scene.do("Another way", a=scene.edit("a", "line 15\n", "another way\n"))
    scene.save("Stop", promptId="p11")
    scene.path, scene.talk = mine
    scene.cli.ok("undo-restore")
    return path.stem


def go_on_in(scene: Edited, path: Path) -> Claude:
    """The client that resumes a fork."""
    talk = Claude(scene.cli.project, path.stem)
    talk._count, talk.prompts = 1000, 10  # ids that the other conversation does not have
    with open_transcript(str(path)) as file:
        leaf = Tail(file, profile_for(str(path))).leaf()
        talk.here = leaf.id if leaf else None
    return talk


def test_a_whole_fork_is_brought_over(scene: Edited, fork: str) -> None:
    assert "fixed 25\n" in (scene.read("a") or "") and "another way\n" not in (scene.read("a") or "")
    scene.cli.ok("apply", "--from", fork)
    found = scene.read("a") or ""
    assert "fixed 25\n" in found and "another way\n" in found and "cached 5\n" in found
    assert (scene.cli.project / "tests" / "test_a.py").exists()


def test_take_the_tests_from_that_attempt(scene: Edited, fork: str) -> None:
    scene.cli.ok("apply", "t3", "--from", fork[:8], "--", "tests")
    assert (scene.cli.project / "tests" / "test_a.py").exists()
    assert "another way\n" not in (scene.read("a") or "")


# interruptions

def test_an_interrupted_revert_is_finished_or_undone(scene: Edited) -> None:
    was = tree_state(scene.cli.project)
    scene.cli.ok("revert", "t2")
    after = tree_state(scene.cli.project)
    interrupt(scene.cli.state)
    scene.write(a="half done\n")
    assert "interrupted" in scene.cli.ok("status").out
    scene.cli.ok("revert", "t2")
    assert not differences(after, tree_state(scene.cli.project))
    scene.cli.ok("undo-restore")
    assert not differences(was, tree_state(scene.cli.project))
    scene.cli.ok("revert", "t3")
    interrupt(scene.cli.state)
    scene.cli.ok("undo-restore")
    assert not differences(was, tree_state(scene.cli.project))


def test_killed_before_it_began_the_project_stands_where_it_did(scene: Edited,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    controller = scene.controller()
    here = controller.here()

    def killed(*args: Any, **fields: Any) -> None:
        raise RewindError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(Operations, "begin", killed)
        with pytest.raises(RewindError, match="killed"):
            controller.revert(["t2"])
    now = scene.controller().here()
    assert here and now and now.name == here.name
    assert scene.save("Stop").parent == here.name


def test_a_file_that_changes_after_the_plan_is_not_overwritten(scene: Edited) -> None:
    controller = scene.controller()
    from rewind.controller import Reverted

    plan = controller.plan(Reverted(["t2"]), "code")
    scene.write(a=scene.edit("a", "line 10\n", "a moment later\n"))
    with pytest.raises(RewindError) as caught:
        controller.apply(plan)
    assert caught.value.exit_code == 13 and "a moment later\n" in (scene.read("a") or "")


# bad input

@pytest.mark.parametrize("words, code", [
    (["revert"], 2), (["apply"], 2), (["revert", "t9"], 12), (["revert", "t0"], 12),
    (["revert", "nosuch"], 12),
    (["revert", "t2", "--ours", "--theirs"], 2), (["revert", "t2", "--", "nosuch.txt"], 12),
    (["revert", "t2", "--", "../elsewhere"], 2), (["revert", "t2", "--"], 2), (["revert", ""], 2),
    (["revert", "t2", "--session", "nosuch"], 12), (["revert", "20200101_000000_001"], 12),
    (["apply", "--from", "nosuch"], 12), (["apply", "--from", SESSION], 12), (["revert", "t3..t1"], 2)])
def test_what_cannot_be_done_is_one_sentence(scene: Edited, words: list[str], code: int) -> None:
    was = unchanged(scene)
    scene.cli.fails(code, *words)
    scene.cli.fails_with_json(code, *words)
    assert unchanged(scene) == was


@pytest.mark.parametrize("command", ["revert", "apply"])
def test_a_turn_without_a_checkpoint(scene: Edited, command: str) -> None:
    """No hook ran for turn 5: nobody can tell what was its work, and what that of turn 4."""
    scene.turn("With a checkpoint", b="1\n")
    scene.do("Without one", c="1\n")
    scene.do("Nor this", d="1\n")
    scene.turn("With one again", e="1\n")
    was = unchanged(scene)
    assert "Turn 6 has no checkpoint of its own" in scene.cli.fails(12, command, "t6")
    assert scene.cli.fails_with_json(12, command, "t6")["code"] == "turn-without-checkpoint"
    assert unchanged(scene) == was


@pytest.mark.parametrize("command", ["revert", "apply"])
def test_a_session_without_code(cli: InProcess, command: str) -> None:
    scene = Edited(cli)
    scene.do("Nobody made a checkpoint", b="1\n")
    was = unchanged(scene)
    assert "No checkpoint was made in this session" in cli.fails(12, command, "t1")
    assert unchanged(scene) == was


def test_a_checkpoint_that_gc_took(scene: Edited) -> None:
    names = scene.cli.names()
    controller = scene.controller()
    with locked(controller.state, "test"):
        controller.state.files.delete(names[-2])
    was = unchanged(scene)
    for words in (["revert", f"{names[-2]}..{names[0]}"], ["revert", names[-2]], ["apply", names[-2]]):
        scene.cli.fails(12, *words)
    assert unchanged(scene) == was


def test_while_a_turn_runs_it_asks_for_force(scene: Edited) -> None:
    from chat_scene import client_is_running

    client_is_running(scene.cli.home, SESSION, status="busy")
    (scene.cli.state / "session.json").write_text(json.dumps(
        {"agent": "claude", "session_id": SESSION, "transcript_path": str(scene.path), "running": True}))
    scene.cli.fails(13, "revert", "t2")
    assert scene.read("cache") == "a cache\n"
    scene.cli.ok("revert", "t2", "--force")


def test_without_conversations_checkpoints_are_turns(two: InProcess) -> None:
    (two.project / "README.md").write_text("# two\nmore\n")
    two.ok("save", "three")
    result = two.ok("revert", "t3")
    assert (two.project / "README.md").read_text() == "# two\n"
    assert "paste" not in result.err  # there is nobody to tell
    controller = Controller(str(two.project))
    assert controller.find("last").description == 'Reverted turn 3, "three"'


def test_turns_and_checkpoints_are_completed(scene: Edited) -> None:
    found = scene.cli.ok("__complete", "revert", "").out
    assert "t3\t" in found and "last\t" in found
    assert SESSION in scene.cli.ok("__complete", "apply", "--from", "").out
