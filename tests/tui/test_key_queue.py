"""Keys that come faster than the screen follows go where they were typed."""

from __future__ import annotations

import pytest
from scene_tui import SIZE, WIDE, Person, at_keyboard
from textual import events
from textual.widgets import Input

from chat_scene import Scene
from cli.conftest import InProcess

pytestmark = pytest.mark.slow


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    scene = Scene(cli)
    for number, name in enumerate(("step 76", "step 77", "step 78"), 1):
        scene.save("UserPromptSubmit", promptId=f"p{number}", promptText=name)
        scene.do(name, **{f"f{number}": "x\n" * number})
        scene.save("Stop", promptId=f"p{number}")
    return scene


def paste(person: Person, text: str) -> None:
    """All of it at once, as a terminal without bracketed paste sends it."""
    names = {" ": "space", "/": "slash", "\n": "enter"}
    for char in text:
        person.app.post_message(events.Key(names.get(char, char), None if char == "\n" else char))


def test_a_filter_that_is_pasted_is_a_filter(scene: Scene) -> None:
    async def look(person: Person) -> None:
        theme = person.app.theme
        paste(person, "/step 77")
        box = person.app.screen.query_one("#filter", Input)
        await person.until(lambda: box.value == "step 77")
        await person.calm()
        assert person.screen == "TimelineScreen" and person.app.theme == theme
        assert {item.text for item in person.items() if item.kind == "prompt"} == {"step 77"}

    at_keyboard(scene, SIZE, look)


def test_what_is_typed_behind_a_command_is_for_its_dialog(scene: Scene) -> None:
    before = len(scene.records())

    async def look(person: Person) -> None:
        paste(person, "sfixed qut\n")
        await person.until(lambda: len(scene.records()) > before)
        await person.calm()
        assert person.screen == "TimelineScreen"

    at_keyboard(scene, SIZE, look)
    assert scene.records()[0].description == "fixed qut"


def test_the_client_can_be_started_from_the_done_dialog(scene: Scene) -> None:
    async def look(person: Person) -> None:
        await person.stand_on("step 77")
        await person.press("enter", "1")
        await person.until(lambda: person.screen == "Confirm")
        await person.press("enter")
        await person.until(lambda: person.screen == "OutcomeDialog")
        assert "claude --resume" in person.words()
        await person.pilot.press("r")
        await person.until(lambda: person.app._exit)

    app = at_keyboard(scene, WIDE, look)
    assert app.resume and app.return_value and "claude --resume" in app.return_value


def test_rows_have_the_numbers_of_the_list_and_what_turns_changed(scene: Scene) -> None:
    controller = scene.controller()
    controller.add_map_facts(controller.turn_map(), 60)  # counted once, it is remembered
    numbers = {str(one["number"]): one["prompt"] for one in scene.cli.json("list")["turns"]}

    async def look(person: Person) -> None:
        from rewind.tui.parts.rows import drawn

        rows = [drawn(row, 60, 0.0).plain for row in person.timeline.rows if row.item.turn
                and row.item.kind == "prompt"]
        assert {row.split()[0]: " ".join(row.split()[3:5]) for row in rows} == numbers
        assert [row.split()[-2] for row in rows] == ["+1", "+2", "+3"]

    at_keyboard(scene, SIZE, look)


def test_what_a_terminal_says_was_pasted_is_looked_for(scene: Scene) -> None:
    async def look(person: Person) -> None:
        person.app.post_message(events.Paste("/step 77\n"))
        box = person.app.screen.query_one("#filter", Input)
        await person.until(lambda: box.value == "step 77")
        await person.calm()
        assert person.screen == "TimelineScreen"

    at_keyboard(scene, SIZE, look)


def test_keys_wait_while_something_is_worked_out(scene: Scene) -> None:
    """The whole way back in one go: each key is for the question that the one before brings up."""
    async def look(person: Person) -> None:
        await person.stand_on("step 77")
        paste(person, "\n2y")
        await person.until(lambda: person.screen == "OutcomeDialog")

    at_keyboard(scene, SIZE, look)
    assert sorted(path.stem for path in scene.cli.project.glob("*.txt")) == ["f1"]
