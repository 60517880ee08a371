"""Restoring code and chat, taking that back and doing it again: whatever the order, nothing is ever lost."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat_scene import LONG_AGO, Scene, a_dead_pid, change_record, client_is_running, prompts_of
from checkpoint.rewind.killed import killed_in
from cli import conftest as in_process
from cli.conftest import InProcess
from make_transcripts import compact
from rewind.checkpoint.operation_log.operations import Operations
from rewind.cli.main import main
from rewind.processes import process_start
from rewind.transcript.write import content
from rewind.transcript.write import in_place as rewriting
from rewind_cli import tree_state

cli = in_process.cli  # the fixture


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    """Two turns, each with a checkpoint after it, and a third without one."""
    scene = Scene(cli)
    scene.do("one", a="1")
    scene.first = scene.save().name
    scene.do("two", a="2", b="2")
    scene.second = scene.save().name
    scene.do("three", a="3", c="3")
    scene.remember()
    return scene


@pytest.fixture
def droid(cli: InProcess) -> Scene:
    scene = Scene(cli, "droid")
    scene.path.with_suffix(".settings.json").write_text('{"model": "m", "tokenUsage": {"in": 1}}')
    scene.do("one", a="1")
    scene.first = scene.save().name
    scene.do("two", a="2")
    scene.remember()
    return scene


def restore(scene: Scene, *args: str) -> dict[str, Any]:
    return scene.cli.json("restore", scene.first, *args)


# restore

def test_restore_brings_back_the_code_and_makes_a_fork(scene: Scene) -> None:
    before = scene.path.read_bytes()
    done = restore(scene)
    assert scene.read("a") == "1" and scene.read("b") is None and scene.read("c") is None
    fork = Path(done["fork"]["path"])
    assert scene.fork(fork) == ["one"] and done["fork"]["session_id"] == fork.stem
    assert scene.path.read_bytes() == before
    where = os.path.realpath(scene.cli.project)
    assert done["fork"]["resume"] == f"cd {where} && claude --resume {fork.stem}"


def test_restore_ends_with_what_to_do_next(scene: Scene) -> None:
    result = scene.cli.ok("restore", scene.first)
    fork = scene.forks()[0].stem
    assert result.out == (f"Restored to {scene.first}. Reload your agent session.\n"
                          f"Fork created: {fork}\n")
    assert f"claude --resume {fork}" in result.err


def test_where_only_the_conversation_comes_back_the_result_is_the_fork(scene: Scene) -> None:
    result = scene.cli.ok("restore", scene.first, "--context-only")
    assert result.out == f"Fork created: {scene.forks()[0].stem}\n"


def test_code_only_makes_no_fork(scene: Scene) -> None:
    done = restore(scene, "--code-only")
    assert done["fork"] is None and done["in_place"] is None and scene.forks() == []
    assert scene.read("a") == "1"


def test_context_only_touches_no_file(scene: Scene) -> None:
    before = tree_state(scene.cli.project)
    done = restore(scene, "--context-only")
    assert done["written"] == done["deleted"] == [] and done["backup"] is None
    assert tree_state(scene.cli.project) == before and scene.fork() == ["one"]


def test_some_paths_alone_have_no_conversation(scene: Scene) -> None:
    done = scene.cli.run("restore", scene.first, "--json", "--", "a.txt")
    assert done.code == 0 and done.data["fork"] is None and scene.forks() == []
    assert scene.read("a") == "1" and scene.read("b") == "2"


def test_a_dry_run_makes_no_fork_and_touches_nothing(scene: Scene) -> None:
    before = scene.agent_files(), tree_state(scene.cli.project)
    restore(scene, "--dry-run")
    restore(scene, "--dry-run", "--context-only")
    restore(scene, "--dry-run", "--in-place")
    assert (scene.agent_files(), tree_state(scene.cli.project)) == before


def test_options_that_exclude_each_other_are_a_usage_error(scene: Scene) -> None:
    for args in (["--code-only", "--context-only"], ["--context-only", "--", "a.txt"],
                 ["--in-place", "--code-only"], ["--in-place", "--", "a.txt"],
                 ["--context-only", "--to", "x"]):
        scene.cli.fails(2, "restore", "last", *args)


def test_a_checkpoint_without_a_conversation_restores_code_without_complaint(cli: InProcess) -> None:
    (cli.project / "a.txt").write_text("1")
    cli.init()
    (cli.project / "a.txt").write_text("2")
    result = cli.ok("restore", "last")
    assert (cli.project / "a.txt").read_text() == "1" and "conversation" not in result.out + result.err
    for option in ("--context-only", "--in-place"):
        assert "no conversation" in cli.fails(1, "restore", "last", option, hint="--code-only")


def test_a_checkpoint_from_before_the_first_prompt_restores_code_and_says_what_to_do(cli: InProcess) -> None:
    scene = Scene(cli)
    scene.talk.add({"type": "mode", "mode": "default", "sessionId": scene.session})
    scene.flush()
    scene.write(a="0")
    name = scene.save().name
    scene.do("one", a="1")
    done = scene.cli.json("restore", name)
    assert done["fork"] is None and scene.read("a") == "0" and scene.forks() == []
    assert any("Start a new session" in note for note in done["notes"])
    scene.cli.fails(1, "restore", name, "--context-only", hint="Start a new session")


@pytest.mark.parametrize("gone", ["deleted", "rewritten", "folder"])
def test_a_conversation_that_is_gone_is_restored_from_the_store(scene: Scene, gone: str) -> None:
    if gone == "deleted":
        scene.path.unlink()
    elif gone == "folder":
        shutil.rmtree(scene.folder)
    else:
        scene.path.write_bytes(compact({"type": "user", "uuid": "x", "other": True}) + b"\n")
    done = restore(scene)
    assert scene.fork(done["fork"]["path"]) == ["one"] and scene.read("a") == "1"
    assert any("store" in note for note in done["notes"]) and scene.leftovers() == []
    if gone == "folder":
        assert scene.folder.stat().st_mode & 0o777 == 0o700


def test_from_the_store_the_lines_that_came_late_are_there_too(scene: Scene) -> None:
    """The hook's own checkpoint has not yet the line of its prompt; a later one of that session has."""
    scene.say("four")
    name = scene.save("Stop", promptId="p4").name
    scene.talk.entry("system", subtype="stop_hook_summary")
    last = scene.talk.here
    scene.flush()
    scene.say("five")
    scene.save()
    scene.path.unlink()
    path = Path(scene.cli.json("restore", name, "--context-only")["fork"]["path"])
    assert str(last).encode() in path.read_bytes() and b"five" not in path.read_bytes()


def queued(cli: InProcess) -> tuple[Scene, str]:
    """A prompt typed while a turn ran: its hook saw that turn's id. Returns the name of its checkpoint."""
    scene = Scene(cli)
    scene.save("UserPromptSubmit", promptId="p1", promptText="one")
    scene.talk.prompt("one")
    scene.flush()
    name = scene.save("UserPromptSubmit", promptId="p1", promptText="queued meanwhile").name
    scene.talk.answer("1")
    scene.talk.prompt("queued meanwhile", promptSource="queued")
    scene.talk.answer("2")
    scene.flush()
    return scene, name


def test_a_queued_prompts_checkpoint_keeps_the_turn_that_was_running(cli: InProcess) -> None:
    scene, name = queued(cli)
    scene.cli.ok("restore", name, "--context-only")
    assert scene.fork() == ["one"]


def test_also_when_the_running_turns_own_checkpoint_was_collected(cli: InProcess) -> None:
    scene, name = queued(cli)
    scene.cli.ok("gc", "--keep", "1")
    assert [r.name for r in scene.records()] == [name]
    scene.cli.ok("restore", name, "--context-only")
    assert scene.fork() == ["one"]


def test_in_place_cuts_the_session_itself_and_keeps_a_backup(scene: Scene) -> None:
    whole = scene.path.read_bytes()
    done = restore(scene, "--in-place")
    assert done["fork"] is None and scene.forks() == [] and scene.read("a") == "1"
    backup = Path(done["in_place"]["backup"])
    assert backup.read_bytes() == whole and backup.parent == scene.cli.state / "transcript-backup"
    assert prompts_of("claude", scene.path) == ["one"] and scene.lost() == []


def test_in_place_brings_a_deleted_session_back_and_undo_takes_it_away(scene: Scene) -> None:
    scene.path.unlink()
    result = scene.cli.ok("restore", scene.first, "--in-place", "--context-only")
    assert prompts_of("claude", scene.path) == ["one"]
    assert "None" not in result.out + result.err
    undone = scene.cli.ok("undo-restore")
    assert "None" not in undone.out + undone.err
    assert not scene.path.exists()


def test_a_fork_of_droids_has_its_settings_and_its_parent(droid: Scene) -> None:
    done = restore(droid)
    fork = Path(done["fork"]["path"])
    assert droid.fork(fork) == ["one"] and "droid --resume" in done["fork"]["resume"]
    assert json.loads(fork.with_suffix(".settings.json").read_text()) == {"model": "m"}
    assert json.loads(fork.read_bytes().split(b"\n")[0])["parent"] == droid.session


def test_a_title_that_droid_changed_after_the_checkpoint_does_not_matter(droid: Scene) -> None:
    data = droid.path.read_bytes()
    droid.path.write_bytes(data.replace(b"A talk", b"A title that is very much longer", 1))
    done = restore(droid)
    assert droid.fork(done["fork"]["path"]) == ["one"] and done["notes"] == []


@pytest.mark.parametrize("agent", ["claude", "droid"])
def test_the_restored_fork_can_be_continued_checkpointed_and_restored_again(cli: InProcess,
                                                                            agent: str) -> None:
    scene = Scene(cli, agent)
    scene.do("one", a="1")
    name = scene.save().name
    fork = Path(scene.cli.json("restore", name)["fork"]["path"])
    with open(fork, "ab") as file:
        other = Scene(cli, agent, "5e550000-0000-4000-8000-00000000000f")
        other.say("two")
        file.write(b"".join(line + b"\n" for line in other.talk.lines[-5:] if b"session_start" not in line))
        other.path.unlink()
    second = scene.save(path=fork).name
    again = Path(scene.cli.json("restore", second, "--context-only")["fork"]["path"])
    assert again not in (fork, scene.path) and fork.read_bytes().splitlines()[1:] == [
        line for line in again.read_bytes().splitlines()[1:] if b"[Fork] [Fork]" not in line]


# undo and redo: forks

def test_a_fork_that_nobody_continued_goes_to_the_trash_and_comes_back(scene: Scene) -> None:
    fork = Path(restore(scene)["fork"]["path"])
    made = fork.read_bytes()
    result = scene.cli.ok("undo-restore")
    assert not fork.exists() and scene.read("a") == "3" and scene.read("c") == "3"
    assert f"to the trash: {fork.stem}" in result.err and scene.lost() == []
    scene.cli.ok("redo")
    assert fork.read_bytes() == made and scene.read("a") == "1"
    scene.cli.ok("undo-restore")
    assert not fork.exists() and scene.read("a") == "3" and scene.lost() == []


def test_a_fork_that_was_continued_is_kept_and_said(scene: Scene) -> None:
    fork = Path(restore(scene)["fork"]["path"])
    with open(fork, "ab") as file:
        file.write(compact({"type": "user", "uuid": "new", "parentUuid": None, "sessionId": fork.stem,
                            "message": {"role": "user", "content": "go on"}}) + b"\n")
    result = scene.cli.ok("undo-restore")
    assert fork.exists() and f"because it was continued: {fork.stem}" in result.err
    assert scene.read("a") == "3"
    scene.cli.ok("redo")
    assert fork.exists() and scene.read("a") == "1" and len(scene.forks()) == 1


def test_a_fork_that_a_client_has_open_is_kept(scene: Scene) -> None:
    fork = Path(restore(scene)["fork"]["path"])
    client_is_running(scene.cli.home, fork.stem)
    scene.cli.ok("undo-restore")
    assert fork.exists()


def test_a_line_that_is_no_prompt_does_not_make_it_continued(scene: Scene) -> None:
    fork = Path(restore(scene)["fork"]["path"])
    with open(fork, "ab") as file:
        file.write(compact({"type": "mode", "mode": "plan", "sessionId": fork.stem}) + b"\n")
    scene.cli.ok("undo-restore")
    assert not fork.exists() and scene.lost() == []


def test_droids_fork_goes_with_its_settings_and_comes_back_with_them(droid: Scene) -> None:
    fork = Path(restore(droid)["fork"]["path"])
    os.utime(fork, (LONG_AGO, LONG_AGO))
    settings_file = fork.with_suffix(".settings.json")
    # Droid may find a title for it by itself.
    fork.write_bytes(fork.read_bytes().replace(b"[Fork] A talk", b"Something quite different", 1))
    data = fork.read_bytes()
    droid.cli.ok("undo-restore")
    assert not fork.exists() and not settings_file.exists()
    droid.cli.ok("redo")
    assert fork.read_bytes() == data and json.loads(settings_file.read_text()) == {"model": "m"}


def test_a_step_of_the_chat_alone_is_taken_back_and_done_again(scene: Scene) -> None:
    before = tree_state(scene.cli.project)
    fork = Path(restore(scene, "--context-only")["fork"]["path"])
    undone = scene.cli.json("undo-restore")
    assert undone["checkpoint"] is None and undone["written"] == undone["deleted"] == []
    assert not fork.exists() and tree_state(scene.cli.project) == before
    scene.cli.json("redo")
    assert fork.exists() and tree_state(scene.cli.project) == before
    scene.cli.ok("undo-restore")
    assert not fork.exists()
    scene.cli.fails(12, "undo-restore")


def test_several_steps_are_taken_back_one_by_one_and_come_again_in_order(scene: Scene) -> None:
    one = Path(scene.cli.json("back")["fork"]["path"])
    two = Path(restore(scene)["fork"]["path"])
    three = Path(scene.cli.json("back", "2", "--session", scene.session)["fork"]["path"])
    assert [one.exists(), two.exists(), three.exists(), scene.read("a")] == [True, True, True, "1"]
    scene.cli.ok("undo-restore")
    assert [one.exists(), two.exists(), three.exists(), scene.read("a")] == [True, True, False, "1"]
    scene.cli.ok("undo-restore")
    assert [one.exists(), two.exists(), three.exists(), scene.read("a")] == [True, False, False, "3"]
    scene.cli.ok("undo-restore")
    assert [one.exists(), two.exists(), three.exists(), scene.read("a")] == [False, False, False, "3"]
    scene.cli.fails(12, "undo-restore")
    assert scene.lost() == []
    scene.cli.ok("redo")
    assert [one.exists(), two.exists(), three.exists(), scene.read("a")] == [True, False, False, "3"]
    scene.cli.ok("redo")
    assert [one.exists(), two.exists(), three.exists(), scene.read("a")] == [True, True, False, "1"]
    scene.cli.ok("redo")
    assert [one.exists(), two.exists(), three.exists(), scene.read("a")] == [True, True, True, "1"]


def test_steps_of_code_and_of_chat_may_alternate(scene: Scene) -> None:
    restore(scene, "--code-only")
    fork = Path(restore(scene, "--context-only")["fork"]["path"])
    scene.cli.ok("undo-restore")
    assert not fork.exists() and scene.read("a") == "1"
    scene.cli.ok("undo-restore")
    assert scene.read("a") == "3"
    scene.cli.ok("redo")
    assert scene.read("a") == "1" and not fork.exists()
    scene.cli.ok("redo")
    assert scene.read("a") == "1" and fork.exists()


def test_an_undo_of_code_between_steps_of_chat_keeps_their_order(scene: Scene) -> None:
    fork = Path(restore(scene, "--context-only")["fork"]["path"])
    scene.cli.ok("undo")
    assert scene.read("a") == "2" and fork.exists()
    scene.cli.ok("undo-restore")
    assert scene.read("a") == "3" and fork.exists()
    scene.cli.ok("undo-restore")
    assert scene.read("a") == "3" and not fork.exists()


def test_deleting_a_fork_is_a_step_of_its_own(scene: Scene) -> None:
    fork = Path(restore(scene)["fork"]["path"])
    made = fork.read_bytes()
    scene.cli.ok("forks", "delete", fork.stem)
    scene.cli.ok("undo-restore")
    assert fork.read_bytes() == made and scene.read("a") == "1"
    scene.cli.ok("redo")
    assert not fork.exists() and scene.lost() == []
    scene.cli.ok("undo-restore")
    scene.cli.ok("undo-restore")
    assert scene.read("a") == "3" and not fork.exists() and scene.lost() == []
    scene.cli.ok("redo")
    assert scene.read("a") == "1" and fork.read_bytes() == made


def test_deleting_bringing_back_and_deleting_again_is_undone_in_one_go(scene: Scene) -> None:
    """The trash has another name for the fork by the time that the first deletion is undone."""
    fork = Path(restore(scene)["fork"]["path"])
    made = fork.read_bytes()
    scene.cli.ok("forks", "delete", fork.stem)
    first = scene.cli.json("ops")["operations"][0]["id"]
    scene.cli.ok("forks", "undelete", fork.stem)
    scene.cli.ok("forks", "delete", fork.stem)
    for _ in range(2):
        done = scene.cli.json("undo-restore", first)
        assert fork.read_bytes() == made and not any("no longer in the trash" in n for n in done["notes"])
        scene.cli.ok("redo")
        assert not fork.exists() and scene.lost() == []


def test_renaming_a_fork_is_undone_and_redone(scene: Scene) -> None:
    fork = restore(scene)["fork"]["session_id"]

    def name() -> object:
        return json.loads((scene.cli.state / "branches.json").read_text())["branches"][-1]["name"]

    for text in ("first", "second"):
        scene.cli.ok("forks", "rename", fork, text)
    scene.cli.ok("undo-restore")
    assert name() == "first"
    scene.cli.ok("undo-restore")
    assert name() is None
    scene.cli.ok("redo")
    scene.cli.ok("redo")
    assert name() == "second"


def test_a_fork_that_somebody_removed_does_not_stand_in_the_way(scene: Scene) -> None:
    Path(restore(scene)["fork"]["path"]).unlink()
    scene.cli.ok("undo-restore")
    assert scene.read("a") == "3"
    scene.cli.ok("redo")
    assert scene.read("a") == "1"


def test_a_trash_that_was_emptied_does_not_block_the_steps_before_it(scene: Scene) -> None:
    restore(scene, "--code-only")
    restore(scene, "--context-only")
    scene.cli.ok("undo-restore")
    shutil.rmtree(scene.cli.state / "trash")
    scene.cli.run("redo")  # it cannot be done; whatever it says, it must not hide what came before
    scene.cli.ok("undo-restore")
    assert scene.read("a") == "3"


def test_a_deleted_fork_that_a_client_wrote_anew_is_not_written_over(scene: Scene) -> None:
    """A client that had it open appends to a file of its name, which then has no beginning."""
    fork = Path(restore(scene)["fork"]["path"])
    scene.remember()
    scene.cli.ok("forks", "delete", fork.stem)
    fork.write_bytes(compact({"type": "user", "uuid": "n", "message": {"role": "user", "content": "x"},
                              "sessionId": fork.stem, "cwd": os.path.realpath(scene.cli.project)}) + b"\n")
    scene.remember()
    scene.cli.run("forks", "undelete", fork.stem)
    assert scene.lost() == []
    scene.cli.run("forks", "delete", fork.stem)
    assert scene.lost() == []
    scene.cli.run("undo-restore")
    scene.cli.run("redo")
    assert scene.lost() == []


def test_moving_branches_away_as_the_hint_says_costs_no_fork(scene: Scene) -> None:
    fork = Path(restore(scene)["fork"]["path"])
    made = fork.read_bytes()
    (scene.cli.state / "branches.json").unlink()
    scene.cli.ok("undo-restore")
    assert scene.cli.json("forks", "list")["trash"] == [fork.stem]
    scene.cli.ok("forks", "undelete", fork.stem)
    assert fork.read_bytes() == made


# undo and redo: in place

def test_a_transcript_cut_in_place_is_swapped_back_and_forth(scene: Scene) -> None:
    whole = scene.path.read_bytes()
    restore(scene, "--in-place")
    short = scene.path.read_bytes()
    for _ in range(3):
        scene.cli.ok("undo-restore")
        assert (scene.path.read_bytes(), scene.read("a")) == (whole, "3")
        scene.cli.ok("redo")
        assert (scene.path.read_bytes(), scene.read("a")) == (short, "1")
    assert scene.lost() == []


def test_a_chat_cut_in_place_alone_is_swapped_back_and_forth(scene: Scene) -> None:
    whole = scene.path.read_bytes()
    scene.cli.ok("back", "--in-place")
    short = scene.path.read_bytes()
    for _ in range(3):
        scene.cli.ok("undo-restore")
        assert scene.path.read_bytes() == whole
        scene.cli.ok("redo")
        assert scene.path.read_bytes() == short
    assert scene.lost() == []


def test_redo_right_after_a_cut_in_place_has_nothing_to_take_back(scene: Scene) -> None:
    scene.cli.ok("back", "--in-place")
    short = scene.path.read_bytes()
    scene.cli.fails(12, "redo", hint="undo-restore")
    assert scene.path.read_bytes() == short


def test_two_cuts_in_place_are_taken_back_one_by_one(scene: Scene) -> None:
    versions = [scene.path.read_bytes()]
    for _ in range(2):
        scene.cli.ok("back", "--in-place")
        versions.append(scene.path.read_bytes())
    assert len(set(versions)) == 3
    scene.cli.ok("undo-restore")
    assert scene.path.read_bytes() == versions[1]
    scene.cli.ok("undo-restore")
    assert scene.path.read_bytes() == versions[0]
    scene.cli.ok("redo")
    assert scene.path.read_bytes() == versions[1]
    scene.cli.ok("redo")
    assert scene.path.read_bytes() == versions[2] and scene.lost() == []


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_cut_in_place_that_was_killed_before_the_log_had_its_end_is_undone(scene: Scene,
                                                                              goes_on: bool) -> None:
    """How long the transcript was then is found by what it has in common with its backup."""
    whole = scene.path.read_bytes()

    def killed() -> int:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Operations, "end", lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
            return main(["back", "--in-place"])

    assert killed_in(10 ** 9, killed, scene.cli.project)
    cut = scene.path.read_bytes()
    assert cut != whole and scene.cli.json("ops")["operations"][0]["interrupted"]
    if goes_on:
        scene.say("another way")
    said = scene.path.read_bytes()
    scene.cli.ok("undo-restore")
    if goes_on:
        assert scene.path.read_bytes() == said and [prompts_of("claude", f) for f in scene.forks()] == [
            ["one", "two", "three"]]
    else:
        assert scene.path.read_bytes() == whole and scene.forks() == []


def test_a_session_that_went_on_after_a_cut_in_place_stays_and_its_backup_comes_back_as_a_fork(
        scene: Scene) -> None:
    whole = prompts_of("claude", scene.path)
    scene.cli.ok("back", "--in-place")
    scene.say("another way")
    continued = scene.path.read_bytes()
    assert "Would bring the backup back as a fork" in scene.cli.ok("undo-restore", "--dry-run").out
    result = scene.cli.ok("undo-restore")
    assert scene.path.read_bytes() == continued and scene.lost() == []
    assert scene.fork() == whole and scene.forks()[0].stem in result.err
    scene.cli.ok("redo")
    assert scene.path.read_bytes() == continued and scene.forks() == [] and scene.lost() == []


def test_a_transcript_deleted_after_a_cut_in_place_comes_back(scene: Scene) -> None:
    whole = scene.path.read_bytes()
    scene.cli.ok("back", "--in-place")
    scene.path.unlink()
    result = scene.cli.ok("undo-restore")
    assert scene.path.read_bytes() == whole and "None" not in result.out + result.err
    assert scene.cli.run("redo").code in (0, 12)
    assert scene.lost() == []


def test_undo_and_redo_of_a_cut_in_place_are_refused_while_a_client_is_in_it(scene: Scene) -> None:
    whole = scene.path.read_bytes()
    restore(scene, "--in-place")
    short = scene.path.read_bytes()
    entry = client_is_running(scene.cli.home, scene.session)
    scene.cli.fails(13, "undo-restore")
    assert (scene.path.read_bytes(), scene.read("a")) == (short, "1")
    entry.unlink()
    scene.cli.ok("undo-restore")
    client_is_running(scene.cli.home, scene.session)
    scene.cli.fails(13, "redo")
    assert (scene.path.read_bytes(), scene.read("a")) == (whole, "3")
    scene.cli.ok("redo", "--force")
    assert (scene.path.read_bytes(), scene.read("a")) == (short, "1")


def test_the_refusal_of_an_undo_says_why_when_only_the_hooks_know(droid: Scene) -> None:
    restore(droid, "--in-place")
    droid.make_old()
    (droid.cli.state / "session.json").write_text(json.dumps({
        "agent": "droid", "transcript_path": str(droid.path), "session_id": droid.session,
        "client": {"pid": os.getpid(), "start": process_start(os.getpid())}}))
    assert "Factory Droid" in droid.cli.fails(13, "undo-restore")


# all of it, in any order

MOVES = st.lists(st.sampled_from(["back", "back in place", "restore", "restore in place", "chat", "code",
                                  "undo-restore", "undo-restore", "redo", "redo", "say", "continue fork",
                                  "delete fork", "undelete", "undo"]), min_size=3, max_size=12)


class Walker:
    """One project for all examples; each begins with a session of its own."""

    def __init__(self, cli: InProcess) -> None:
        self.cli = cli
        self.number = 0

    def walk(self, moves: list[str]) -> None:
        self.number += 1
        (self.cli.state / "operations.jsonl").unlink(missing_ok=True)
        for old in (self.cli.home / ".claude" / "projects").rglob("*.jsonl"):
            old.unlink()
        scene = Scene(self.cli, session=f"5e55{self.number:04x}-0000-4000-8000-000000000000")
        scene.do("one", a=f"1 {self.number}")
        name = scene.save().name
        scene.do("two", a=f"2 {self.number}")
        scene.say("three")
        for move in moves:
            scene.remember()
            self.move(scene, name, move)
            assert scene.lost() == [], move
            assert scene.leftovers() == [], move

    def move(self, scene: Scene, name: str, move: str) -> None:
        forks = scene.forks()
        commands = {"back": ["back", "--session", scene.session], "undo": ["undo"],
                    "back in place": ["back", "--in-place", "--session", scene.session],
                    "restore": ["restore", name], "restore in place": ["restore", name, "--in-place"],
                    "chat": ["restore", name, "--context-only"], "code": ["restore", name, "--code-only"],
                    "undo-restore": ["undo-restore"], "redo": ["redo"]}
        if move in commands:
            assert self.cli.run(*commands[move]).code in (0, 1, 12), move
        elif move == "say":
            scene.do(f"more {len(scene.talk.lines)}", a=f"{len(scene.talk.lines)} {self.number}")
        elif move == "continue fork" and forks:
            with open(forks[0], "ab") as file:
                file.write(compact({"type": "user", "uuid": f"u{len(forks[0].read_bytes())}",
                                    "message": {"role": "user", "content": "on"},
                                    "cwd": os.path.realpath(self.cli.project)}) + b"\n")
        elif move == "delete fork" and forks:
            self.cli.ok("forks", "delete", forks[-1].stem)
        elif move == "undelete":
            trash = self.cli.json("forks", "list")["trash"]
            if trash:
                self.cli.run("forks", "undelete", trash[-1])


@pytest.fixture
def walker(cli: InProcess) -> Walker:
    Scene(cli)
    return Walker(cli)


@pytest.mark.slow
@given(MOVES)
@settings(max_examples=int(os.environ.get("REWIND_EXAMPLES") or 12), deadline=None, derandomize=True,
          database=None, suppress_health_check=list(HealthCheck))
def test_whatever_the_order_every_version_of_every_transcript_is_somewhere(walker: Walker,
                                                                          moves: list[str]) -> None:
    walker.walk(moves)


# a session that is open

def test_in_place_is_refused_while_a_client_is_in_it_and_nothing_is_written(scene: Scene) -> None:
    client_is_running(scene.cli.home, scene.session)
    before = scene.agent_files(), tree_state(scene.cli.project), len(scene.records())
    error = scene.cli.fails(13, "restore", scene.first, "--in-place", hint="--in-place")
    assert "Claude Code" in error
    assert (scene.agent_files(), tree_state(scene.cli.project), len(scene.records())) == before
    assert not (scene.cli.state / "transcript-backup").exists()
    restore(scene, "--in-place", "--force")
    assert prompts_of("claude", scene.path) == ["one"]


def test_a_fork_is_made_although_a_client_is_in_the_session(scene: Scene) -> None:
    client_is_running(scene.cli.home, scene.session)
    assert restore(scene)["fork"]


@pytest.mark.parametrize("stale", ["dead", "reused"])
def test_what_a_killed_client_left_does_not_count(scene: Scene, stale: str) -> None:
    client_is_running(scene.cli.home, scene.session, pid=a_dead_pid() if stale == "dead" else None,
                      procStart="1")
    restore(scene, "--in-place")
    assert prompts_of("claude", scene.path) == ["one"]


# records that lie

@pytest.mark.parametrize("lie", ["outside", "link", "dots", "nul"])
def test_a_record_that_leads_out_of_the_session_root_writes_nothing_there(scene: Scene, tmp_path: Path,
                                                                         lie: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    target = outside / f"{scene.session}.jsonl"
    target.write_bytes(scene.path.read_bytes())
    (scene.folder / "link").symlink_to(outside)
    path = {"outside": str(target), "link": str(scene.folder / "link" / target.name),
            "dots": str(scene.folder / "../../../../outside" / target.name),
            "nul": f"{scene.folder}/a\0b/{target.name}"}[lie]
    change_record(scene.cli, scene.first, original_path=path)
    before = target.read_bytes(), scene.agent_files()
    for args in (["--context-only"], ["--in-place"], ["--context-only", "--in-place", "--force"], []):
        result = scene.cli.run("restore", scene.first, *args)
        assert result.code == (1 if args else 3), result
        assert "hint: " in result.err or not args
        assert scene.read("a") == "3" or not args
        assert (target.read_bytes(), scene.agent_files()) == before
        assert os.listdir(outside) == [target.name] and scene.leftovers() == []


def test_a_record_with_an_id_that_is_none_is_refused(scene: Scene) -> None:
    before = scene.agent_files()
    for session in ("../../x", "a\0b", "x" * 5000, "", ".", 7, None):
        path = f"{scene.folder}/{session}.jsonl" if session != 7 else str(scene.path)
        change_record(scene.cli, scene.first, sessionId=session, original_path=path)
        scene.cli.fails(1, "restore", scene.first, "--context-only", hint="--code-only")
        assert scene.agent_files() == before


def test_a_record_with_odd_fields_never_crashes(scene: Scene) -> None:
    before = scene.agent_files()
    whole = scene.controller().find(scene.first).data["transcript"]
    odd: list[dict[str, Any]] = [
        {"cursor": None}, {"cursor": 7}, {"snapshot": None}, {"agent": "nobody"}, {"agent": None},
        {"snapshot": {"bytes": 10**15}}, {"cursor": {"byte_offset_end": 10**15, "header_bytes": 0}}]
    for changes in odd:
        change_record(scene.cli, scene.first, **{**whole, **changes})
        result = scene.cli.run("restore", scene.first, "--context-only")
        assert result.code in (0, 1, 12, 20), (changes, result)
        for fork in scene.forks():
            assert scene.fork(fork) == ["one"], changes
            fork.unlink()
        assert scene.agent_files() == before and scene.leftovers() == [], changes


def test_a_transcript_that_a_link_replaced_is_not_followed_out_of_the_root(scene: Scene,
                                                                          tmp_path: Path) -> None:
    real = tmp_path / "real.jsonl"
    scene.path.rename(real)
    scene.path.symlink_to(real)
    before = real.read_bytes()
    for args in (["--in-place"], ["--context-only", "--in-place"]):
        assert scene.cli.run("restore", scene.first, *args).code in (1, 13)
    assert real.read_bytes() == before and scene.read("a") == "3"


def _lie_in_the_log(scene: Scene, path: Path) -> None:
    file = scene.cli.state / "operations.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        for effect in line.get("effects", ()):
            effect.update(path=str(path), size=path.stat().st_size, header=0)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_log_that_leads_out_of_the_session_root_moves_nothing(scene: Scene, tmp_path: Path) -> None:
    restore(scene, "--context-only")
    precious = tmp_path / "precious.jsonl"
    precious.write_bytes(b'{"a":1}\n')
    _lie_in_the_log(scene, precious)
    scene.cli.run("undo-restore")
    assert precious.read_bytes() == b'{"a":1}\n'


def test_branches_that_lead_out_of_the_session_root_bring_nothing_there(scene: Scene, tmp_path: Path) -> None:
    fork = Path(restore(scene, "--context-only")["fork"]["path"])
    scene.cli.ok("forks", "delete", fork.stem)
    outside = tmp_path / "outside" / fork.name
    file = scene.cli.state / "branches.json"
    data = json.loads(file.read_text())
    for branch in data["branches"]:
        branch["path"] = str(outside)
    file.write_text(json.dumps(data))
    scene.cli.run("forks", "undelete", fork.stem)
    assert not outside.exists() and not outside.parent.exists()


# a full disk

def full_disk(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("what", ["copy_range", "write_all"])
def test_a_full_disk_while_forking_leaves_no_half_fork(scene: Scene, monkeypatch: pytest.MonkeyPatch,
                                                       what: str) -> None:
    before = scene.agent_files()
    with monkeypatch.context() as patch:
        patch.setattr(content, what, full_disk)
        scene.cli.fails(1, "restore", scene.first, "--context-only")
    assert scene.agent_files() == before and scene.leftovers() == []
    assert scene.cli.json("forks", "list")["forks"] == []
    assert restore(scene, "--context-only")["fork"]


def test_code_that_came_back_before_the_fork_failed_can_be_taken_back(scene: Scene,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(content, "copy_range", full_disk)
        assert "No space" in scene.cli.fails(3, "restore", scene.first, hint="undo-restore")
    assert scene.read("a") == "1" and scene.leftovers() == [] and scene.forks() == []
    scene.cli.ok("undo-restore")
    assert scene.read("a") == "3" and scene.read("c") == "3"


def test_a_full_disk_while_cutting_in_place_keeps_the_transcript(scene: Scene,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    before = scene.path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(rewriting, "copy_range", full_disk)
        scene.cli.fails(1, "back", "--in-place")
    with monkeypatch.context() as patch:
        patch.setattr(rewriting, "write_content", full_disk)
        scene.cli.fails(1, "back", "--in-place")
    assert scene.path.read_bytes() == before and scene.leftovers() == []
    scene.cli.run("undo-restore")
    assert scene.path.read_bytes() == before and scene.lost() == []


def test_a_trash_on_another_disk_is_reached_by_copying(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    fork = Path(restore(scene)["fork"]["path"])
    made = fork.read_bytes()

    rename = os.rename

    def other_disk(source: Any, target: Any, **more: Any) -> None:
        if fork.stem in str(source):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(source, target, **more)

    monkeypatch.setattr(os, "rename", other_disk)
    scene.cli.ok("undo-restore")
    assert not fork.exists() and scene.lost() == []
    scene.cli.ok("redo")
    assert fork.read_bytes() == made


def test_a_restore_from_the_store_on_a_full_disk_leaves_no_temporary_file(
        scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    from rewind.checkpoint.conversations import stored as conversation

    scene.path.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(conversation, "write_all", full_disk)
        scene.cli.fails(1, "restore", scene.first, "--context-only")
    assert scene.leftovers() == [] and scene.forks() == []
