"""`rewind back`: what it prints where, how it exits, and that code and chat arrive at the same moment."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from chat_scene import LONG_AGO, Claude, Scene, a_dead_pid, client_is_running, droid, prompts_of
from cli.conftest import InProcess
from make_transcripts import place
from rewind import words
from rewind.errors import TranscriptUnreadable
from rewind_cli import tree_state


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    """Three turns; before each prompt its hook made a checkpoint."""
    scene = Scene(cli)
    for number, text in enumerate(("one", "two", "three"), 1):
        scene.save("UserPromptSubmit", promptId=f"p{number}", promptText=text)
        scene.do(text, a=str(number), **{f"only{number}": text})
    return scene


# output

def test_stdout_has_the_result_and_stderr_the_talk(scene: Scene) -> None:
    result = scene.cli.ok("back", "2")
    fork = scene.forks()[0].stem
    assert result.out == f"Fork created: {fork}\n"
    assert "2 prompts taken back" in result.err and "two" in result.err and "three" in result.err
    assert f"claude --resume {fork}" in result.err and "undo-restore" in result.err
    assert scene.fork() == ["one"]


def test_in_place_says_so_on_stdout(scene: Scene) -> None:
    whole = scene.path.read_bytes()
    result = scene.cli.ok("back", "--in-place")
    assert result.out == "Chat rewritten in-place\n"
    assert prompts_of("claude", scene.path) == ["one", "two"] and scene.forks() == []
    backup = next((scene.cli.state / "transcript-backup").iterdir())
    assert str(backup) in result.err and backup.read_bytes() == whole


def test_json_is_one_object_with_the_promised_keys(scene: Scene) -> None:
    lines = scene.talk.lines
    found = scene.cli.json("back", "2", "--both")
    starts = [scene.talk.offset(n) for n, line in enumerate(lines) if b'"origin"' in line]
    assert found["boundary"] == starts[1] and isinstance(found["boundary"], int)
    assert [p["text"] for p in found["prompts"]] == ["two", "three"]
    assert [p["offset"] for p in found["prompts"]] == starts[1:]
    assert [p["uuid"] for p in found["prompts"]] == [json.loads(line)["uuid"] for line in lines
                                                     if b'"origin"' in line][1:]
    assert set(found["fork"]) >= {"session_id", "path", "resume"} and found["in_place"] is None
    assert found["code"]["exact"] is True and found["code"]["checkpoint"] and found["notes"] == []
    assert found["dryRun"] is False


def test_json_without_both_has_no_code(scene: Scene) -> None:
    found = scene.cli.json("back")
    assert found["code"] is None and found["notes"] == []


def test_json_in_place_names_the_backup(scene: Scene) -> None:
    whole = scene.path.read_bytes()
    found = scene.cli.json("back", "--in-place")
    assert found["fork"] is None and Path(found["in_place"]["backup"]).read_bytes() == whole


def test_json_on_stdout_is_all_there_is_on_it(scene: Scene) -> None:
    result = scene.cli.run("back", "--json", "--copy", env={"PATH": ""})
    json.loads(result.out)
    assert "three" in result.err


def test_a_dry_run_touches_nothing(scene: Scene) -> None:
    before = scene.agent_files(), tree_state(scene.cli.project), len(scene.records())
    for extra in ([], ["--both"], ["--in-place"]):
        result = scene.cli.ok("back", "--dry-run", *extra)
        assert "three" in result.err and scene.session in result.out
    for extra in (["--both", "--in-place"], ["--both"]):
        plan = scene.cli.json("back", "--dry-run", *extra)
        assert plan["dryRun"] is True and plan["fork"] is None
        assert plan["code"]["checkpoint"] and plan["code"]["written"]
    assert (scene.agent_files(), tree_state(scene.cli.project), len(scene.records())) == before
    assert not (scene.cli.state / "operations.jsonl").exists()


def test_a_dry_run_names_every_prompt_that_would_go_and_no_other(scene: Scene) -> None:
    """The client's own rewind writes nothing before the next prompt: a person must see what is meant."""
    for n, texts in ((1, ["three"]), (2, ["two", "three"])):
        plan = scene.cli.json("back", str(n), "--dry-run")
        assert [prompt["text"] for prompt in plan["prompts"]] == texts
        told = scene.cli.ok("back", str(n), "--dry-run").err
        assert [text for text in ("one", "two", "three") if f"> {text}\n" in told] == texts
        done = scene.cli.json("back", str(n))
        assert done["prompts"] == plan["prompts"] and done["boundary"] == plan["boundary"]


def test_control_characters_in_a_prompt_do_not_reach_the_terminal(scene: Scene) -> None:
    scene.say("\x1b[31mred\x07 and \u202eturned")
    result = scene.cli.ok("back")
    assert "\x1b[31m" not in result.err and "\x07" not in result.err and words.safe("x") == "x"


# errors

def test_a_number_below_one_or_none_at_all_is_a_usage_error(scene: Scene) -> None:
    before = scene.agent_files()
    for args in (["0"], ["-1"], ["-99999999999999999999"], ["x"], ["1.5"], ["1", "2"], ["--both=x"]):
        assert scene.cli.run("back", *args).code == 2, args
    assert scene.cli.fails_with_json(2, "back", "0")["code"] == "usage-error"
    assert scene.agent_files() == before


def test_not_enough_prompts_is_told_with_their_number(scene: Scene) -> None:
    before = scene.agent_files()
    assert "3" in scene.cli.fails(12, "back", "4")
    assert scene.cli.fails_with_json(12, "back", "99")["code"] == "not-enough-prompts"
    assert scene.agent_files() == before


def test_no_transcript_at_all_is_told(cli: InProcess) -> None:
    cli.init()
    cli.fails(12, "back", hint="--session")
    cli.fails(12, "back", "--session", "/no/such.jsonl")
    cli.fails(12, "back", "--session", "12345678")
    assert cli.run("back", env={"REWIND_TRANSCRIPT_PATH": "/no/such.jsonl"}).code == 12


def test_a_session_that_cannot_be_one_is_told(scene: Scene) -> None:
    before = scene.agent_files()
    for name in ("../../x", "a b", "a\0b", "x" * 300, "x" * 5000 + ".jsonl"):
        assert scene.cli.run("back", "--session", name).code in (2, 12), name
    assert scene.agent_files() == before


def test_an_unreadable_transcript_is_told(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = scene.folder / "folder.jsonl"
    folder.mkdir()
    scene.cli.fails(1, "back", "--session", str(folder))
    os.mkfifo(scene.folder / "pipe.jsonl")
    scene.cli.fails(1, "back", "--session", str(scene.folder / "pipe.jsonl"))
    assert TranscriptUnreadable.exit_code == 1


def test_before_the_first_prompt_a_new_session_is_suggested(cli: InProcess) -> None:
    scene = Scene(cli)
    scene.say("one")
    scene.cli.fails(1, "back", hint="Start a new session instead: claude")
    assert scene.forks() == []


def test_before_the_first_prompt_the_code_comes_back_all_the_same(scene: Scene) -> None:
    found = scene.cli.json("back", "3", "--both")
    assert found["fork"] is None and found["in_place"] is None and found["code"]["exact"] is True
    assert scene.read("a") is None and scene.forks() == []
    assert any("Start a new session" in note for note in found["notes"])
    scene.cli.ok("undo-restore")
    assert scene.read("a") == "3"


def test_droid_can_go_on_from_before_its_first_prompt(cli: InProcess) -> None:
    scene = Scene(cli, "droid")
    scene.say("one")
    fork = Path(scene.cli.json("back")["fork"]["path"])
    assert scene.fork(fork) == [] and fork.read_bytes().count(b"session_start") == 1


# code and chat

def test_both_brings_code_and_chat_to_the_same_moment(scene: Scene) -> None:
    found = scene.cli.json("back", "--both")
    assert scene.fork() == ["one", "two"]
    assert (scene.read("a"), scene.read("only2"), scene.read("only3")) == ("2", "two", None)
    assert found["code"]["exact"] is True and found["code"]["backup"]
    scene.cli.ok("undo-restore")
    assert scene.read("a") == "3" and scene.read("only3") == "three" and scene.forks() == []


def test_an_approximate_checkpoint_is_named_with_its_age(cli: InProcess) -> None:
    scene = Scene(cli)
    scene.do("one", a="1")
    name = scene.save().name
    scene.do("two", a="2")
    result = scene.cli.run("back", "--both", "--json")
    assert result.data["code"]["checkpoint"] == name and result.data["code"]["exact"] is False
    assert any("approximate" in note and name in note and " ago" in note for note in result.data["notes"])
    assert scene.read("a") == "1"


def test_without_a_checkpoint_only_the_chat_moves_and_that_is_told(cli: InProcess) -> None:
    scene = Scene(cli)
    scene.say("one")
    scene.do("two", a="2")
    found = scene.cli.json("back", "--both")
    assert found["code"] is None and found["fork"] and scene.read("a") == "2"
    assert any("No checkpoint" in note for note in found["notes"])


def test_both_in_place_cuts_the_transcript_and_restores_the_code(scene: Scene) -> None:
    found = scene.cli.json("back", "2", "--both", "--in-place")
    assert found["in_place"]["backup"] and found["code"]["exact"] is True
    assert prompts_of("claude", scene.path) == ["one"] and scene.read("a") == "1"


def test_both_in_a_fork_uses_the_checkpoints_of_its_ancestor(scene: Scene) -> None:
    fork = scene.cli.json("back")["fork"]["session_id"]
    found = scene.cli.json("back", "--both", "--session", fork)
    assert found["code"]["exact"] is True and scene.read("a") == "1"


def test_what_the_agent_abandoned_itself_does_not_come_back(scene: Scene) -> None:
    """A rewind inside the client leaves its prompts in the file."""
    one = next(json.loads(line)["uuid"] for line in scene.talk.lines if b'"turn_duration"' in line)
    scene.talk.back_to(one)
    scene.say("instead")
    scene.say("and on")
    assert [p["text"] for p in scene.cli.json("back", "2")["prompts"]] == ["instead", "and on"]
    assert scene.fork() == ["one"]


# which session

def test_the_session_may_be_named(scene: Scene) -> None:
    other = Scene(scene.cli, session="5e550000-0000-4000-8000-0000000000aa")
    other.say("x", "y")
    found = scene.cli.json("back", "--session", scene.session)
    assert found["session"] == scene.session and found["notes"] == []
    assert scene.cli.json("back", "--session", str(other.path))["session"] == other.session


def test_another_session_that_is_active_is_told(scene: Scene) -> None:
    now = time.time()
    other = Scene(scene.cli, session="5e550000-0000-4000-8000-0000000000aa")
    other.say("x", "y")
    os.utime(scene.path, (now - 60, now - 60))
    os.utime(other.path, (now, now))
    notes = scene.cli.json("back", "--dry-run")["notes"]
    assert len(notes) == 1 and scene.session in notes[0] and other.session in notes[0]


def test_the_environment_says_which_session_it_is(scene: Scene) -> None:
    other = Scene(scene.cli, session="5e550000-0000-4000-8000-0000000000aa")
    other.say("x", "y")
    for env in ({"REWIND_TRANSCRIPT_PATH": str(scene.path)}, {"REWIND_SESSION_ID": scene.session},
                {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": scene.session}):
        result = scene.cli.run("back", "--dry-run", "--json", env=env)
        assert result.data["session"] == scene.session and result.data["notes"] == [], env


def test_a_fork_that_was_just_made_does_not_become_the_session_to_go_back_in(scene: Scene) -> None:
    scene.cli.ok("back")
    assert scene.cli.json("back", "--dry-run")["session"] == scene.session


# a session that is open

@pytest.mark.parametrize("extra", [[], ["--both"]])
def test_in_place_is_refused_while_the_client_is_in_it(scene: Scene, extra: list[str]) -> None:
    client_is_running(scene.cli.home, scene.session)
    before = scene.agent_files(), tree_state(scene.cli.project), len(scene.records())
    scene.cli.fails(13, "back", "--in-place", *extra, hint="--force")
    assert scene.cli.fails_with_json(13, "back", "--in-place", *extra)["code"] == "session-in-use"
    assert (scene.agent_files(), tree_state(scene.cli.project), len(scene.records())) == before
    assert not (scene.cli.state / "transcript-backup").exists()
    assert not (scene.cli.state / "operations.jsonl").exists()
    scene.cli.ok("back", "--in-place", "--force", *extra)
    assert prompts_of("claude", scene.path) == ["one", "two"]


def test_a_fork_is_made_while_the_client_is_in_it(scene: Scene) -> None:
    client_is_running(scene.cli.home, scene.session)
    scene.cli.ok("back")


def test_entries_of_dead_clients_and_of_reused_numbers_do_not_count(scene: Scene) -> None:
    client_is_running(scene.cli.home, scene.session, pid=a_dead_pid(), procStart="5")
    client_is_running(scene.cli.home, scene.session, procStart="5")
    scene.cli.ok("back", "--in-place")


def test_droids_transcript_written_just_now_counts_as_open(cli: InProcess) -> None:
    scene = Scene(cli, "droid")
    scene.say("one", "two")
    os.utime(scene.path)
    before = scene.path.read_bytes()
    scene.cli.fails(13, "back", "--in-place")
    assert scene.path.read_bytes() == before
    scene.make_old()
    scene.cli.ok("back", "--in-place")
    assert prompts_of("droid", scene.path) == ["one"]


@pytest.mark.parametrize("extra", [[], ["--both"]])
def test_a_transcript_outside_the_session_root_is_never_rewritten(scene: Scene, tmp_path: Path,
                                                                  extra: list[str]) -> None:
    outside = tmp_path / f"{scene.session}.jsonl"
    outside.write_bytes(scene.path.read_bytes())
    os.utime(outside, (LONG_AGO, LONG_AGO))
    before = outside.read_bytes(), tree_state(scene.cli.project)
    scene.cli.fails(1, "back", "--in-place", "--session", str(outside), *extra)
    assert (outside.read_bytes(), tree_state(scene.cli.project)) == before
    assert [p.name for p in tmp_path.glob("*.jsonl")] == [outside.name]


# the clipboard

def fake(folder: Path, name: str = "pbcopy", code: int = 0) -> dict[str, Any]:
    """A program of that name that writes down what it is given."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n/bin/cat > '{folder}/copied'\nexit {code}\n")
    path.chmod(0o755)
    return {"PATH": str(folder)}


def test_copy_puts_the_prompts_on_the_clipboard(scene: Scene, tmp_path: Path) -> None:
    result = scene.cli.run("back", "2", "--copy", env=fake(tmp_path / "bin"))
    assert result.code == 0 and (tmp_path / "bin" / "copied").read_text() == "two\n\nthree"
    assert "2 prompts copied" in result.err and result.out.startswith("Fork created: ")


def test_without_a_clipboard_the_prompts_are_printed(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = scene.cli.run("back", "--copy", env={"PATH": str(tmp_path / "empty")})
    assert result.code == 0 and "No clipboard" in result.err and result.err.rstrip().endswith("three")
    assert result.out.startswith("Fork created: ") and result.out.count("\n") == 1


def test_a_clipboard_that_fails_is_no_clipboard(scene: Scene, tmp_path: Path) -> None:
    result = scene.cli.run("back", "--copy", env=fake(tmp_path / "bin", code=1))
    assert result.code == 0 and "No clipboard" in result.err


# from a real process

def test_the_same_from_a_real_process(scene: Scene, rewind: Any) -> None:
    assert isinstance(scene.talk, Claude)
    result = rewind.run("back", "--both")
    fork = scene.forks()[0]
    assert result.code == 0 and result.out == f"Fork created: {fork.stem}\n"
    assert scene.fork() == ["one", "two"] and scene.read("a") == "2"


def test_sessions_of_both_agents_in_one_project_do_not_mix(scene: Scene) -> None:
    talk = droid(scene.cli.project, "d0000000-0000-4000-8000-000000000000")
    talk.turn("of droid")
    talk.turn("of droid, too")
    path = place(scene.cli.home, "droid", scene.cli.project, talk.bytes(), talk.session)
    found = scene.cli.json("back", "--session", talk.session)
    assert Path(found["fork"]["path"]).parent == path.parent and "droid --resume" in found["fork"]["resume"]
    assert scene.forks() == []
