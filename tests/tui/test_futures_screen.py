"""Futures at the keyboard: their lanes in the map, compared, brought home, taken away and brought back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from scene_tui import SIZE, Person, at_keyboard

from chat_scene import Claude, Turns
from cli.conftest import InProcess
from make_transcripts import place
from rewind.checkpoint.map.by_session import LANE
from rewind.tui.screens.forks_screen import ForksScreen
from rewind_cli import tree_state

CODE = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def scene(cli: InProcess) -> Turns:
    return futures_of(cli)


def futures_of(cli: InProcess) -> Turns:
    """Two futures of the second turn: in the first the agent went on."""
    scene = Turns(cli)
    scene.turn("Write a parser", parser=CODE)
    scene.turn("Make it fast", parser=CODE.replace("five", "FIVE"))
    made = cli.json("fork", "t2", "-n", "2")["forks"]
    first = Path(made[0]["dir"])
    talk = Claude(first, made[0]["session_id"])
    talk.turn("Write a parser")
    talk.turn("Make it short")
    place(cli.home, "claude", first, b"".join(line + b"\n" for line in talk.lines), made[0]["session_id"])
    (first / "parser.txt").write_text(CODE.replace("one", "ONE"))
    assert cli.run("save", "there", cwd=first).code == 0
    (Path(made[1]["dir"]) / "notes.txt").write_text("other\n")
    return scene


def folder(scene: Turns, name: str) -> Path:
    return Path(f"{os.path.realpath(scene.cli.project)}-{name}")


async def comes(person: Person, name: str) -> Any:
    """The screen of this name, once it is there."""
    await person.until(lambda: person.screen == name)
    await person.calm()
    return person.app.screen


async def on_the_forks(person: Person) -> ForksScreen:
    await person.press("f")
    screen: ForksScreen = await comes(person, "ForksScreen")
    await person.until(lambda: len(screen.lanes) == 2)
    await person.press("home")
    return screen


def test_the_map_has_a_lane_for_each_future(scene: Turns) -> None:
    async def go(person: Person) -> None:
        lanes = [(item.text, item.turn) for item in person.items() if item.kind == LANE]
        assert lanes == [("fork-1", None), ("Make it short", 2), ("fork-2", None)]
        await person.stand_on("Make it short", LANE)
        await person.press("enter")
        screen = await comes(person, "ForksScreen")
        await person.until(lambda: len(screen.lanes) == 2)
        await person.press("escape")

    at_keyboard(scene, SIZE, go)


def test_two_futures_are_compared_and_a_command_says_which_is_right(
        scene: Turns) -> None:
    async def go(person: Person) -> None:
        await on_the_forks(person)
        await person.press("space", "down", "space", "c")
        screen = await comes(person, "CompareScreen")
        assert list(screen.files) == ["notes.txt", "parser.txt"]
        await person.press("r")
        await comes(person, "Ask")
        person.app.screen.query_one("#answer").value = "test -f notes.txt"  # type: ignore[attr-defined]
        await person.press("enter")
        await person.until(lambda: bool(screen.ran))
        assert [one.code for one in screen.ran] == [1, 0]
        await person.press("escape", "escape")

    at_keyboard(scene, SIZE, go)
    lanes = scene.cli.json("forks")["lanes"]
    assert [lane["lastRun"]["code"] for lane in lanes] == [1, 0]


def test_a_command_that_does_not_end_is_stopped(scene: Turns) -> None:
    async def go(person: Person) -> None:
        await on_the_forks(person)
        await person.press("c")
        screen = await comes(person, "CompareScreen")
        await person.press("r")
        box = (await comes(person, "Ask")).query_one("#answer")
        box.value = "echo $$ > pid; exec sleep 600"
        await person.pilot.press("enter")
        await person.until(lambda: person.screen == "Running")
        await person.until((folder(scene, "fork-1") / "pid").exists)
        await person.pilot.press("escape")
        await person.until(lambda: len(screen.ran) == 2)
        assert all(one.stopped for one in screen.ran)
        await person.press("escape", "escape")

    at_keyboard(scene, (120, 40), go)
    pid = int((folder(scene, "fork-1") / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert [lane["lastRun"] for lane in scene.cli.json("forks")["lanes"]] == [None, None]


def test_a_future_is_adopted_after_its_plan_was_seen(scene: Turns) -> None:
    async def go(person: Person) -> None:
        await on_the_forks(person)
        await person.press("a")
        await comes(person, "Confirm")
        assert "fork fork-1" in person.words() and scene.read("parser") == CODE.replace("five", "FIVE")
        await person.press("y")
        await comes(person, "OutcomeDialog")
        assert "Adopted" in person.words() and "claude --resume" in person.words()
        await person.press("escape", "escape")

    at_keyboard(scene, SIZE, go)
    assert scene.read("parser") == CODE.replace("one", "ONE").replace("five", "FIVE")


def test_a_conflict_is_settled_before_anything_is_written(scene: Turns) -> None:
    (folder(scene, "fork-1") / "parser.txt").write_text(CODE.replace("five", "5"))
    before = tree_state(scene.cli.project)

    async def go(person: Person) -> None:
        await on_the_forks(person)
        await person.press("a")
        await comes(person, "Choose")
        assert "1 conflict" in person.words()
        assert tree_state(scene.cli.project) == before
        await person.press("1")
        await comes(person, "Confirm")
        await person.press("y")
        await comes(person, "OutcomeDialog")
        await person.press("escape", "escape")

    at_keyboard(scene, (120, 40), go)
    assert scene.read("parser") == CODE.replace("five", "5")


def test_a_future_is_removed_and_brought_back(scene: Turns) -> None:
    async def go(person: Person) -> None:
        screen = await on_the_forks(person)
        await person.press("down", "x")
        await comes(person, "Confirm")
        await person.press("y")
        await person.until(lambda: len(screen.lanes) == 1)
        assert not folder(scene, "fork-2").exists()
        await person.press("u")
        await person.until(lambda: len(screen.lanes) == 2)
        await person.press("escape")

    at_keyboard(scene, SIZE, go)
    assert (folder(scene, "fork-2") / "notes.txt").read_text() == "other\n"


def test_a_future_goes_on_in_its_own_directory(scene: Turns) -> None:
    async def go(person: Person) -> None:
        await on_the_forks(person)
        await person.press("enter")
        await comes(person, "OutcomeDialog")
        assert f"cd {folder(scene, 'fork-1')} && claude --resume" in person.words()
        await person.press("escape", "escape")

    at_keyboard(scene, (160, 50), go)
