"""`rewind sessions`: the conversations of the project as a tree, and the turns of one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chat_scene import Scene, client_is_running
from cli.conftest import InProcess
from make_transcripts import ClaudeTalk


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    scene = Scene(cli)
    scene.say("one", "two", "three")
    return scene


def test_an_empty_project_has_none(cli: InProcess) -> None:
    cli.init()
    assert cli.json("sessions", "list") == {"sessions": [], "onlyHere": []}
    assert "no conversations" in cli.ok("sessions").out


def test_list_has_the_promised_keys(scene: Scene) -> None:
    fork = scene.cli.json("back", "2")["fork"]["session_id"]
    found = {s["session_id"]: s for s in scene.cli.json("sessions", "list")["sessions"]}
    assert set(found) == {fork, scene.session}
    one = found[fork]
    assert one["agent"] == "claude" and one["title"] == "[Fork] one" and one["turns"] == 1
    assert one["parentSessionId"] == scene.session and one["rewindFromTurn"] == 1
    assert one["running"] is False and one["modified"].endswith("Z") and one["madeByRewind"] is True
    assert found[scene.session]["parentSessionId"] is None and found[scene.session]["turns"] == 3


def test_list_is_a_tree_for_people(scene: Scene) -> None:
    fork = scene.cli.json("back", "2")["fork"]["session_id"]
    lines = scene.cli.ok("sessions").out.splitlines()
    assert len(lines) == 2 and scene.session[:8] in lines[0] and fork[:8] in lines[1]
    assert "└ one · from turn 1" in lines[1] and "3 turns" in lines[0]


def test_a_running_one_is_marked(scene: Scene) -> None:
    client_is_running(scene.cli.home, scene.session)
    assert scene.cli.json("sessions", "list")["sessions"][0]["running"] is True
    assert "●" in scene.cli.ok("sessions", "list").out


def test_show_has_the_promised_keys(scene: Scene) -> None:
    scene.talk.compaction()
    offset = scene.talk.offset(-2)
    scene.flush()
    found = scene.cli.json("sessions", "show", scene.session)
    assert set(found) >= {"session_id", "agent", "title", "path", "turns", "compactions"}
    assert found["path"] == str(scene.path) and found["compactions"] == [offset]
    assert [(t["turn"], t["prompt"], t["active"]) for t in found["turns"]] == [
        (1, "one", True), (2, "two", True), (3, "three", True)]
    first = found["turns"][0]
    line = json.loads(scene.path.read_bytes()[first["offset"]:].split(b"\n")[0])
    assert line["uuid"] == first["uuid"] and line["timestamp"] == first["timestamp"]


def test_show_marks_what_the_agent_abandoned(scene: Scene) -> None:
    one = next(json.loads(line)["uuid"] for line in scene.talk.lines if b'"turn_duration"' in line)
    scene.talk.back_to(one)
    scene.say("instead")
    turns = scene.cli.json("sessions", "show")["turns"]
    assert [(t["turn"], t["active"]) for t in turns] == [(1, True), (None, False), (None, False), (2, True)]
    assert "abandoned" in scene.cli.ok("sessions", "show").out


def test_show_without_a_name_shows_the_current_one(scene: Scene) -> None:
    assert scene.cli.json("sessions", "show")["session_id"] == scene.session
    assert scene.cli.json("sessions", "show", scene.session[:8])["session_id"] == scene.session


def test_show_reads_a_transcript_anywhere_and_needs_no_project(cli: InProcess, tmp_path: Path) -> None:
    talk = ClaudeTalk()
    talk.turn("hello")
    path = tmp_path / "x.jsonl"
    path.write_bytes(talk.bytes())
    found = cli.json("sessions", "show", str(path))
    assert (found["session_id"], found["agent"]) == ("x", "claude") and len(found["turns"]) == 1
    (tmp_path / "empty.jsonl").write_bytes(b"")
    assert "It has no prompts yet" in cli.ok("sessions", "show", str(tmp_path / "empty.jsonl")).out


def test_show_of_what_is_not_there_is_told(scene: Scene) -> None:
    scene.cli.fails(12, "sessions", "show", "/no/such.jsonl")
    scene.cli.fails(12, "sessions", "show", "ffffffff")
    scene.cli.fails(2, "sessions", "show", "a b")
    scene.cli.fails(2, "sessions", "list", "x")
    scene.cli.fails(2, "sessions", "show", "a\0b.jsonl")
    assert scene.cli.run("sessions", "show", "x" * 5000 + ".jsonl").code in (1, 12)
    assert scene.cli.run("sessions", "delete").code == 2


def test_titles_and_prompts_cannot_drive_the_terminal(scene: Scene) -> None:
    scene.say("\x1b]0;owned\x07")
    scene.talk.title("\x1b[2Jx")
    scene.flush()
    for command in (["sessions"], ["sessions", "show"]):
        assert "\x1b" not in scene.cli.ok(*command).out
