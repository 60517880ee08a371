"""Every flow of the terminal UI by its keys, in a small terminal and in a large one."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from scene_tui import SIZE, Person, at_keyboard
from textual.widgets import Input

from chat_scene import Scene, client_is_running
from cli.conftest import InProcess
from rewind.checkpoint.map.by_session import CHECKPOINT, PROMPT, SESSION
from rewind.cli.output.theme import light_wanted, remember_light
from rewind.tui.parts.diff_view import DiffView

pytestmark = pytest.mark.slow


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    """Three turns with a file each; the checkpoints of the prompts; and a manual one in between."""
    scene = Scene(cli)
    for number, name in enumerate(("one", "two", "three"), 1):
        scene.save("UserPromptSubmit", promptId=f"p{number}")
        scene.do(f"write {name}", **{name: f"{name}\n"})
        scene.save("Stop", promptId=f"p{number}")
    scene.controller().save("all is well")
    return scene


def files(scene: Scene) -> list[str]:
    return sorted(path.stem for path in scene.cli.project.glob("*.txt"))


# looking

def test_the_timeline_has_sessions_prompts_and_checkpoints_in_their_order(scene: Scene) -> None:
    async def look(person: Person) -> None:
        texts = [item.text for item in person.items()]
        assert texts.index("write one") < texts.index("write two") < texts.index("write three")
        assert texts.index("write three") < texts.index("all is well") < texts.index("Now")
        prompts = [item for item in person.items() if item.kind == PROMPT]
        assert all(item.record for item in prompts), "each has the checkpoint of its own"

    at_keyboard(scene, SIZE, look)


def test_the_preview_has_prompt_answer_and_what_became_of_the_files(scene: Scene) -> None:
    async def look(person: Person) -> None:
        await person.stand_on("write two", PROMPT)
        words = person.words()
        assert "Turn 2" in words and "write two" in words and "Answer to write two" in words
        assert "two.txt" in words and "+two" in words and "three.txt" not in words

    at_keyboard(scene, SIZE, look)


def test_the_preview_of_now_has_what_changed_since_the_last_checkpoint(scene: Scene) -> None:
    scene.write(four="fresh\n")

    async def look(person: Person) -> None:
        assert "four.txt" in person.words() and "+fresh" in person.words()

    at_keyboard(scene, SIZE, look)


def test_arrows_pages_and_ends_move_the_cursor(scene: Scene) -> None:
    async def look(person: Person) -> None:
        last = person.timeline.cursor
        await person.press("up", "k")
        assert person.timeline.cursor == last - 2
        await person.press("home")
        assert person.timeline.cursor == 0
        await person.press("down", "j", "end")
        assert person.timeline.cursor == last

    at_keyboard(scene, SIZE, look)


def test_typing_filters_and_escape_shows_everything_again(scene: Scene) -> None:
    async def look(person: Person) -> None:
        everything = len(person.items())
        await person.press("slash")
        await person.type("write two")
        assert {item.text for item in person.items() if item.kind == PROMPT} == {"write two"}
        await person.press("enter", "escape")
        assert len(person.items()) == everything
        await person.press("w")  # no key of ours: it begins a filter
        assert person.app.screen.query_one(Input).value == "w"
        await person.press("x")
        assert person.app.screen.query_one(Input).value == "wx", "and what is typed next is added"
        assert not person.items()
        assert "Nothing matches" in person.words()

    at_keyboard(scene, SIZE, look)


def test_a_click_looks_and_a_double_click_chooses(scene: Scene) -> None:
    async def look(person: Person) -> None:
        await person.pilot.click("TimelineList", offset=(6, 2))
        await person.calm()
        assert person.timeline.cursor == 2
        await person.pilot.click("TimelineList", offset=(6, 2), times=2)
        await person.calm()
        assert person.screen == "ChooseIntent"
        await person.press("escape")

    at_keyboard(scene, SIZE, look)


def test_d_shows_the_diff_and_n_what_came_since(scene: Scene) -> None:
    async def look(person: Person) -> None:
        await person.stand_on("write two", PROMPT)
        await person.press("d")
        assert person.screen == "DiffScreen"
        await person.until(lambda: "+two" in _lines(person))
        assert "+three" not in _lines(person)
        await person.press("n")
        await person.until(lambda: "+three" in _lines(person))
        await person.press("escape")
        assert person.screen == "TimelineScreen"

    at_keyboard(scene, SIZE, look)


def _lines(person: Person) -> list[str]:
    return [line.plain for line in person.app.screen.query_one(DiffView).lines]


def test_new_turns_appear_while_an_agent_works(scene: Scene) -> None:
    async def look(person: Person) -> None:
        scene.say("write four")
        await person.until(lambda: "write four" in [item.text for item in person.items()])

    at_keyboard(scene, SIZE, look)


# going back

def test_jump_brings_back_code_and_chat(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await person.stand_on("write two", PROMPT)
        await person.press("enter")
        assert person.screen == "ChooseIntent"
        await person.press("1")
        assert "two.txt" in person.words() and "three.txt" in person.words()
        assert files(scene) == ["one", "three", "two"] and not scene.forks(), "the plan touches nothing"
        await person.press("y")
        assert person.screen == "OutcomeDialog"
        assert scene.forks()[0].stem in person.words() and "--resume" in person.words()
        await person.press("c", "enter")
        forks = [item for item in person.items() if item.kind == SESSION and item.depth]
        assert [item.session.session_id for item in forks if item.session] == [scene.forks()[0].stem]
        await person.press("q")

    copied: list[str] = []
    app = at_keyboard(scene, SIZE, go, copy=copied.append)
    assert files(scene) == ["one"]
    assert scene.fork() == ["write one"]
    assert copied == [app.return_value]
    assert f"claude --resume {scene.forks()[0].stem}" in copied[0]


def test_code_only_leaves_the_chat_alone(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await person.stand_on("write three", PROMPT)
        await person.press("enter", "down", "enter", "enter")
        assert person.screen == "OutcomeDialog"

    at_keyboard(scene, SIZE, go)
    assert files(scene) == ["one", "two"]
    assert not scene.forks()


def test_chat_fork_leaves_the_code_alone(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await person.stand_on("write three", PROMPT)
        await person.press("enter", "3", "enter")
        assert person.screen == "OutcomeDialog"

    at_keyboard(scene, SIZE, go)
    assert files(scene) == ["one", "three", "two"]
    assert scene.fork() == ["write one", "write two"]


def test_a_checkpoint_is_gone_back_to_as_well(scene: Scene) -> None:
    (scene.cli.project / "one.txt").write_text("spoilt\n")

    async def go(person: Person) -> None:
        await person.stand_on("all is well", CHECKPOINT)
        await person.press("enter", "1", "y")
        assert person.screen == "OutcomeDialog"

    at_keyboard(scene, SIZE, go)
    assert scene.read("one") == "one\n"
    assert scene.fork() == ["write one", "write two", "write three"]


def test_a_checkpoint_without_a_conversation_offers_the_code_alone(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await person.stand_on("First checkpoint", CHECKPOINT)
        await person.press("enter", "1", "3")
        assert person.screen == "ChooseIntent", "neither is possible here"
        await person.press("enter", "y")
        assert person.screen == "OutcomeDialog"

    at_keyboard(scene, SIZE, go)
    assert files(scene) == []
    assert not scene.forks()


def test_every_question_can_be_left(scene: Scene) -> None:
    before = scene.agent_files()

    async def go(person: Person) -> None:
        await person.stand_on("write two", PROMPT)
        await person.press("enter", "escape")
        await person.press("enter", "1", "n")
        await person.press("enter", "1", "escape")
        await person.press("s", "escape", "u", "escape", "question_mark", "escape", "f", "escape")
        assert person.screen == "TimelineScreen"

    at_keyboard(scene, SIZE, go)
    assert files(scene) == ["one", "three", "two"]
    assert scene.agent_files() == before


def test_files_that_change_while_the_plan_is_shown_are_not_overwritten(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await person.stand_on("write two", PROMPT)
        await person.press("enter", "1")
        scene.write(two="the latest\n")
        await person.press("y")
        assert person.screen == "Notice" and "changed" in person.words()

    at_keyboard(scene, SIZE, go)
    assert scene.read("two") == "the latest\n"
    assert not scene.forks()


def test_a_prompt_that_came_meanwhile_is_not_taken_back_unseen(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await person.stand_on("write three", PROMPT)
        await person.press("enter", "3")
        scene.say("write four")
        await person.press("y")

    at_keyboard(scene, SIZE, go)
    assert [scene.fork(path) for path in scene.forks()] in ([], [["write one", "write two"]])


def test_while_an_agent_works_a_person_must_insist(scene: Scene) -> None:
    client_is_running(scene.cli.home, scene.session, status="busy")
    scene.cli.state.joinpath("session.json").write_text(json.dumps(
        {"format": 1, "agent": "claude", "session_id": scene.session, "transcript_path": str(scene.path),
         "running": True, "pid": os.getpid(), "recent": []}))

    async def go(person: Person) -> None:
        await person.stand_on("write two", PROMPT)
        await person.press("enter", "2", "y")
        assert "middle of a turn" in person.words()
        await person.press("n")
        assert files(scene) == ["one", "three", "two"]
        await person.press("enter", "2", "y", "y")
        assert person.screen == "OutcomeDialog"

    at_keyboard(scene, SIZE, go)
    assert files(scene) == ["one"]


# undo, redo, save

def test_undo_redo_and_taking_back(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await person.press("u", "y", "enter")
        assert files(scene) == ["one", "two"]
        await person.press("u", "y", "enter")
        assert files(scene) == ["one"]
        await person.press("r", "y", "enter")
        assert files(scene) == ["one", "two"]
        await person.press("U", "y", "enter")  # the step that is not undone: the first undo
        assert files(scene) == ["one", "three", "two"]

    at_keyboard(scene, SIZE, go)


def test_taking_back_a_jump_takes_back_its_fork(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await person.stand_on("write two", PROMPT)
        await person.press("enter", "1", "y", "enter")
        assert scene.forks() and files(scene) == ["one"]
        await person.press("U", "y", "enter")

    at_keyboard(scene, SIZE, go)
    assert files(scene) == ["one", "three", "two"]
    assert not scene.forks()


def test_nothing_to_redo_is_a_sentence(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await person.press("r")
        assert person.screen == "Notice" and "nothing to redo" in person.words()
        await person.press("enter")
        assert person.screen == "TimelineScreen"

    at_keyboard(scene, SIZE, go)


def test_save_asks_for_a_description(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await person.press("s")
        await person.type("before the storm")
        await person.press("enter")
        assert "before the storm" in [item.text for item in person.items()]

    at_keyboard(scene, SIZE, go)
    assert scene.records()[0].description == "before the storm"


# around it

def test_a_directory_without_rewind_is_offered_protection(scene: Scene) -> None:
    shutil.rmtree(scene.cli.state.parent)

    async def go(person: Person) -> None:
        assert person.screen == "Confirm" and "protect" in person.words()
        await person.press("y")
        assert "First checkpoint" in [item.text for item in person.items()]

    at_keyboard(scene, SIZE, go)
    assert scene.cli.state.exists()


def test_who_declines_protection_finds_nothing_changed(scene: Scene) -> None:
    shutil.rmtree(scene.cli.state.parent)

    async def go(person: Person) -> None:
        await person.press("n")

    at_keyboard(scene, SIZE, go)
    assert not scene.cli.state.exists()


def test_a_store_of_a_stranger_is_refused_in_a_sentence(scene: Scene) -> None:
    (scene.cli.home / ".rewind" / "known-stores.json").unlink()

    async def go(person: Person) -> None:
        assert person.screen == "Notice" and "--trust" in person.words()
        await person.press("enter")

    at_keyboard(scene, SIZE, go)


def test_a_session_shows_how_to_go_on_with_it(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await person.stand_on("", SESSION)
        await person.press("enter")
        assert person.screen == "OutcomeDialog"
        assert f"claude --resume {scene.session}" in person.words()
        await person.press("enter")

    at_keyboard(scene, SIZE, go)


def test_light_and_dark_are_a_key_apart_and_the_choice_is_remembered(scene: Scene) -> None:
    async def go(person: Person) -> None:
        assert person.app.current_theme.dark
        await person.press("t")
        assert not person.app.current_theme.dark

    at_keyboard(scene, SIZE, go, light=light_wanted(), remember=remember_light)
    assert light_wanted()

    async def again(person: Person) -> None:
        assert not person.app.current_theme.dark
        await person.press("t")

    at_keyboard(scene, SIZE, again, light=light_wanted(), remember=remember_light)
    assert not light_wanted()


def test_a_choice_that_cannot_be_remembered_is_made_all_the_same(scene: Scene) -> None:
    def fail(light: bool) -> None:
        raise OSError(30, "Read-only file system", "config.json")

    async def go(person: Person) -> None:
        await person.press("t")
        assert not person.app.current_theme.dark
        assert any("Read-only" in note.message for note in person.app._notifications)

    at_keyboard(scene, SIZE, go, remember=fail)


def test_what_a_transcript_says_cannot_steer_the_terminal(scene: Scene) -> None:
    scene.say("evil \x1b]52;c;AAAA\x07 [bold]markup[/]")

    async def go(person: Person) -> None:
        await person.stand_on("evil", PROMPT)
        assert "\x1b" not in person.words() and "[bold]markup[/]" in person.words()

    at_keyboard(scene, SIZE, go)


def test_a_project_of_a_droid_works_the_same(cli: InProcess, tmp_path: Path) -> None:
    scene = Scene(cli, "droid")
    scene.do("write one", one="one\n")
    scene.controller().save("one is there")
    scene.do("write two", two="two\n")
    scene.save("Stop")

    async def go(person: Person) -> None:
        await person.stand_on("write two", PROMPT)
        await person.press("enter", "1", "y")
        assert "droid --resume" in person.words()

    at_keyboard(scene, SIZE, go)
    assert files(scene) == ["one"]
    assert scene.fork() == ["write one"]
