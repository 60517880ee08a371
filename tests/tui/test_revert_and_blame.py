"""Taking back one turn, and which prompt wrote each line, by keys."""

from __future__ import annotations

import pytest
from scene_tui import SIZE, Person, at_keyboard

from chat_scene import Scene
from cli.conftest import InProcess
from map_scene import Story
from rewind.checkpoint.map.by_session import PROMPT, SESSION
from rewind.tui.parts.diff_view import DiffView
from rewind_cli import differences, tree_state

pytestmark = pytest.mark.slow

SIZE = SIZE
LINES = "".join(f"line {n}\n" for n in range(1, 31))
CACHED = LINES.replace("line 5\n", "cached 5\n")
FIXED = CACHED.replace("line 25\n", "fixed 25\n")


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    story = Story(cli)
    story.turn("Write it", a=LINES)
    story.turn("Add a cache", a=CACHED, cache="a cache\n")
    story.turn("Fix the end", a=FIXED)
    story.write(a=FIXED + "by hand\n")
    return story


# revert

def test_a_turn_is_reverted_with_a_plan_and_everything_later_stays(scene: Scene) -> None:
    was = tree_state(scene.cli.project)

    async def go(person: Person) -> None:
        await person.stand_on("Add a cache", PROMPT)
        await person.press("v")
        words = person.words()
        assert person.screen == "Confirm" and '"Add a cache"' in words
        assert "~ a.txt" in words and "− cache.txt" in words and "Everything else stays" in words
        assert not differences(was, tree_state(scene.cli.project))
        await person.press("y")
        assert "I reverted your change to" in person.words()
        await person.press("c", "enter")
        assert scene.read("a") == FIXED.replace("cached 5\n", "line 5\n") + "by hand\n"
        await person.press("U", "y", "enter")

    copied: list[str] = []
    at_keyboard(scene, SIZE, go, copy=copied.append)
    assert copied and copied[0].startswith("I reverted your change to")
    assert not differences(was, tree_state(scene.cli.project))


def test_conflicts_of_a_revert_are_named_with_their_lines(scene: Scene) -> None:
    scene.write(a=FIXED.replace("cached 5\n", "mine 5\n"))

    async def go(person: Person) -> None:
        await person.stand_on("Add a cache", PROMPT)
        await person.press("v")
        assert person.screen == "Choose"
        assert "a.txt" in person.words() and "line 5" in person.words()
        await person.press("2")
        assert person.screen == "Confirm"
        await person.press("y", "enter")

    at_keyboard(scene, SIZE, go)
    assert scene.read("a") == FIXED.replace("cached 5\n", "mine 5\n") and scene.read("cache") is None


def test_what_cannot_be_reverted_is_said(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await person.stand_on("", SESSION)
        await person.press("v")
        assert person.screen == "TimelineScreen"
        assert any("taken back" in note.message for note in person.app._notifications)

    at_keyboard(scene, SIZE, go)


# blame

def blamed(person: Person) -> list[str]:
    return [" ".join(line.plain.split()) for line in person.app.screen.query_one(DiffView).lines]


async def blame(person: Person, name: str) -> None:
    await person.press("b")
    assert person.screen == "ChooseFile"
    await person.type(name)
    await person.press("enter")
    await person.until(lambda: person.screen == "BlameScreen" and bool(blamed(person)))


def test_blame_has_turn_age_and_prompt_and_enter_opens_the_turn(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await blame(person, "a.txt")
        lines = blamed(person)
        assert lines[0].startswith("t1 ") and "Write it" in lines[0] and lines[0].endswith("1 line 1")
        assert lines[4].startswith("t2 ") and "Add a cache" in lines[4]
        assert lines[24].startswith("t3 ") and lines[30].startswith("you*")
        person.app.screen.query_one(DiffView).cursor = 4
        await person.calm()
        await person.press("enter")
        assert person.screen == "TimelineScreen"
        assert person.timeline.item and person.timeline.item.text == "Add a cache"

    at_keyboard(scene, SIZE, go)


def test_a_line_that_no_turn_wrote_opens_nothing(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await blame(person, "a.txt")
        await person.press("end", "enter")
        assert person.screen == "BlameScreen"
        assert any("You wrote" in note.message for note in person.app._notifications)
        await person.press("question_mark", "escape", "escape")
        assert person.screen == "TimelineScreen"

    at_keyboard(scene, SIZE, go)


def test_files_of_the_turn_come_first_and_a_name_that_fits_none_is_said(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await person.stand_on("Add a cache", PROMPT)
        await person.press("b")
        from textual.widgets import OptionList

        options = person.app.screen.query_one(OptionList)
        shown = [str(options.get_option_at_index(at).prompt) for at in range(options.option_count)]
        assert set(shown[:2]) == {"a.txt", "cache.txt"}
        await person.type("nosuch")
        assert "No file" in str(options.get_option_at_index(0).prompt)
        await person.press("enter")
        assert person.screen == "ChooseFile"
        await person.press("escape")

    at_keyboard(scene, SIZE, go)


def test_the_diff_leads_to_the_blame_of_its_file(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await person.stand_on("Add a cache", PROMPT)
        await person.press("d")
        await person.until(lambda: person.screen == "DiffScreen" and bool(blamed(person)))
        await person.press("w")
        await person.until(lambda: person.screen == "BlameScreen" and len(blamed(person)) > 20)
        await person.press("enter")
        assert person.screen == "TimelineScreen"
        assert person.timeline.item and person.timeline.item.text == "Write it"

    at_keyboard(scene, SIZE, go)
