"""`rewind grep`."""

from __future__ import annotations

import pytest

from chat_scene import Scene
from cli.conftest import InProcess

LONG = "Explain the plan. " * 40 + "Then paint the NEEDLE in a haystack"


@pytest.fixture(params=["claude", "droid"])
def scene(cli: InProcess, request: pytest.FixtureRequest) -> Scene:
    scene = Scene(cli, request.param)
    scene.say("Write a parser", "Clean it\nup, please", LONG, "And the parser again")
    return scene


def test_grep_names_the_session_the_turn_and_the_way_back(scene: Scene) -> None:
    lines = scene.cli.ok("grep", "parser").out.splitlines()
    assert lines[0].startswith(f"{scene.session[:8]}  turn 4 of 4") and "And the parser again" in lines[0]
    assert lines[1].strip() == f"rewind back 1 --both --session {scene.session[:8]}"
    assert "turn 1 of 4" in lines[2] and "rewind back 4 --both" in lines[3]


def test_the_way_back_leads_to_before_that_prompt(scene: Scene) -> None:
    found, = scene.cli.json("grep", "Clean it")["matches"]
    plan = scene.cli.json(*found["command"].split()[1:], "--dry-run")
    assert plan["prompts"][0]["text"] == "Clean it\nup, please"


def test_grep_reads_long_prompts_to_their_end(scene: Scene) -> None:
    found, = scene.cli.json("grep", "NEEDLE")["matches"]
    assert found["turn"] == 3 and found["snippet"].startswith("…") and "the NEEDLE in" in found["snippet"]
    assert len(scene.cli.ok("grep", "NEEDLE").out.splitlines()[0]) < 200


def test_case_counts_unless_told_otherwise(scene: Scene) -> None:
    assert scene.cli.json("grep", "needle")["matches"] == []
    assert len(scene.cli.json("grep", "-i", "needle")["matches"]) == 1
    assert "-i" in scene.cli.ok("grep", "needle").err


def test_a_line_break_counts_as_a_space(scene: Scene) -> None:
    assert len(scene.cli.json("grep", "Clean it up")["matches"]) == 1


def test_grep_in_one_session(scene: Scene) -> None:
    assert scene.cli.json("grep", "parser", "--session", scene.session[:8])["matches"]
    near = scene.session[:7] + ("0" if scene.session[7] != "0" else "1")
    scene.cli.fails(12, "grep", "parser", "--session", near, hint=f"Did you mean `{scene.session}`?")


def test_nothing_found_is_no_error_and_nothing_wanted_is_one(scene: Scene) -> None:
    result = scene.cli.ok("grep", "no such words")
    assert result.out == "" and "No prompt contains " in result.err
    scene.cli.fails(2, "grep", " ")


def test_a_prompt_that_a_fork_shares_is_shown_once(cli: InProcess) -> None:
    scene = Scene(cli)
    scene.say("Write a parser", "Break it")
    cli.ok("back")
    assert len(cli.json("grep", "parser")["matches"]) == 2
    text = cli.ok("grep", "parser").out
    assert text.count("Write a parser") == 1 and "also in 1 other session" in text


def test_a_prompt_cannot_steer_the_terminal(cli: InProcess) -> None:
    Scene(cli).say("evil \x1b[2J prompt")
    assert "\x1b" not in cli.ok("grep", "prompt").out
