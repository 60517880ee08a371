"""What a person meets besides the straight way: every question left, the mouse, long work, and trouble."""

from __future__ import annotations

import shutil
import threading
from typing import Any, Callable

import pytest
from picture_of import picture
from scene_tui import SIZE, Person, at_keyboard
from textual.widgets import ProgressBar

from chat_scene import Scene
from cli.conftest import InProcess
from rewind.checkpoint.map.by_session import CHECKPOINT, PROMPT, SESSION
from rewind.checkpoint.project.locked import locked
from rewind.controller import Controller
from rewind.tui.app import RewindApp
from rewind.tui.parts.timeline_list import TimelineList
from rewind.tui.screens.timeline_screen import TimelineScreen

pytestmark = pytest.mark.slow


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    scene = Scene(cli)
    for number, name in enumerate(("one", "two"), 1):
        scene.save("UserPromptSubmit", promptId=f"p{number}")
        scene.do(f"write {name}", **{name: f"{name}\n"})
        scene.save("Stop", promptId=f"p{number}")
    return scene


def files(scene: Scene) -> list[str]:
    return sorted(path.stem for path in scene.cli.project.glob("*.txt"))


# what is asked is in view

def test_the_buttons_stay_in_view_below_a_long_plan(scene: Scene) -> None:
    scene.save("UserPromptSubmit", promptId="p3")
    scene.do("write many", **{f"many{number:02}": "1\n" for number in range(30)})
    scene.save("Stop", promptId="p3")
    for number in range(30):
        scene.cli.project.joinpath(f"many{number:02}.txt").write_text("2\n")

    async def look(person: Person) -> None:
        await person.stand_on("write many", PROMPT)
        await person.press("enter", "2")
        await person.until(lambda: "Go back (y)" in picture(person.app))
        await person.press("pagedown", "pagedown", "pagedown", "pagedown")
        assert "many29.txt" in picture(person.app) and "Go back (y)" in picture(person.app)
        await person.press("escape", "v")
        assert person.screen == "Choose"
        await person.until(lambda: "3 Write conflict markers" in picture(person.app))
        await person.press("pagedown", "pagedown", "pagedown", "pagedown")
        assert "… and 10 more" in picture(person.app)

    at_keyboard(scene, SIZE, look)


# left at each step

@pytest.mark.parametrize("intent", ["1", "2", "3"])
def test_each_intent_can_be_left_at_each_question(scene: Scene, intent: str) -> None:
    before, names = scene.agent_files(), scene.cli.names(backups=True)

    async def go(person: Person) -> None:
        await person.stand_on("write two", PROMPT)
        for leave in ("escape", "q"):
            await person.press("enter", leave)
            assert person.screen == "TimelineScreen"
        for leave in ("escape", "n", "q"):
            await person.press("enter", intent)
            assert person.screen == "Confirm"
            await person.press(leave)
            assert person.screen == "TimelineScreen"

    app = at_keyboard(scene, SIZE, go)
    assert scene.agent_files() == before and files(scene) == ["one", "two"]
    assert scene.cli.names(backups=True) == names, "no backup of what did not happen"
    assert not app.go_on


def test_undo_redo_and_taking_back_can_be_left_too(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await person.press("u", "escape")
        assert files(scene) == ["one", "two"]
        await person.press("u", "y", "enter", "r", "n", "U", "q")
        assert person.screen == "TimelineScreen"

    at_keyboard(scene, SIZE, go)
    assert files(scene) == ["one"]


def test_in_the_forks_every_question_can_be_left(scene: Scene) -> None:
    scene.controller().rewind_back(1)
    [fork] = scene.forks()
    before = fork.read_bytes()

    async def go(person: Person) -> None:
        await person.press("f", "home", "down", "n", "escape", "x", "escape", "enter", "escape", "escape")
        assert person.screen == "TimelineScreen"

    at_keyboard(scene, SIZE, go)
    assert [path.read_bytes() for path in scene.forks()] == [before]


# the mouse

def test_the_mouse_alone_goes_back(scene: Scene) -> None:
    async def go(person: Person) -> None:
        at = next(n for n, item in enumerate(person.items()) if item.kind == PROMPT and item.turn == 2)
        await person.pilot.click(TimelineList, offset=(6, at), times=2)
        await person.calm()
        assert person.screen == "ChooseIntent"
        await person.pilot.click("OptionList", offset=(6, 2))  # the second of two lines each
        await person.calm()
        assert person.screen == "Confirm" and "two.txt" in person.words()
        await person.pilot.click("#no")
        await person.calm()
        assert files(scene) == ["one", "two"]
        await person.pilot.click(TimelineList, offset=(6, at), times=2)
        await person.calm()
        await person.pilot.click("OptionList", offset=(6, 2))
        await person.calm()
        await person.pilot.click("#yes")
        await person.calm()
        assert person.screen == "OutcomeDialog"
        await person.pilot.click("#close")
        await person.calm()
        assert person.screen == "TimelineScreen"

    at_keyboard(scene, SIZE, go)
    assert files(scene) == ["one"]
    assert not scene.forks()


def test_the_copy_button_copies_the_command(scene: Scene) -> None:
    copied: list[str] = []

    async def go(person: Person) -> None:
        await person.stand_on("write two", PROMPT)
        await person.press("enter", "3", "y")
        await person.pilot.click("#copy")
        await person.calm()
        assert person.app.clipboard == copied[0], "by the terminal, too, for those who came over ssh"

    at_keyboard(scene, SIZE, go, copy=copied.append)
    assert len(copied) == 1 and copied[0].endswith(f"claude --resume {scene.forks()[0].stem}")


# long work, and trouble

def test_long_work_shows_how_far_it_is_and_cannot_be_left(scene: Scene,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    proceed, save = threading.Event(), Controller.save

    def slow(self: Controller, *args: Any, progress: Callable[[str, int, int], None], **more: Any) -> Any:
        progress("Reading files", 250, 1000)
        assert proceed.wait(60)
        return save(self, *args, progress=progress, **more)

    monkeypatch.setattr(Controller, "save", slow)

    async def go(person: Person) -> None:
        await person.pilot.press("s")
        await person.until(lambda: person.screen == "Ask")
        await person.pilot.press("x", "enter")
        await person.until(lambda: person.screen == "Working" and "Reading files" in person.words())
        bar = person.app.screen.query_one(ProgressBar)
        assert (bar.progress, bar.total) == (250, 1000)
        await person.until(lambda: person.app.screen.has_class("late"))
        await person.pilot.press("escape", "ctrl+c")
        assert person.screen == "Working" and person.app._exit is False
        proceed.set()
        await person.calm()
        await person.until(lambda: "x" in [item.text for item in person.items()])  # read again in a thread
        assert not person.app._exit, "what was pressed while it worked is not done afterwards"

    at_keyboard(scene, SIZE, go)
    assert scene.records()[0].description == "x"


def test_a_locked_store_is_a_sentence_and_nothing_is_touched(scene: Scene,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    other = scene.controller()
    monkeypatch.setattr("rewind.checkpoint.rewind.apply.locked", lambda state, what: locked(state, what, 0.1))

    async def go(person: Person) -> None:
        await person.stand_on("write two", PROMPT)
        with locked(other.state, "save"):
            await person.press("enter", "1", "y")
            await person.until(lambda: person.screen == "Notice")
            assert "Another Rewind process is at work here" in person.words()
            assert files(scene) == ["one", "two"] and not scene.forks()
        await person.press("enter", "enter", "1", "y")
        assert person.screen == "OutcomeDialog", "and then it works"

    at_keyboard(scene, SIZE, go)
    assert files(scene) == ["one"]


def test_a_damaged_store_is_a_sentence(scene: Scene) -> None:
    scene.cli.state.joinpath("objects.db").write_bytes(b"nonsense" * 1000)

    async def go(person: Person) -> None:
        if person.screen == "TimelineScreen":
            await person.stand_on("write two", PROMPT)
            await person.press("enter", "2")
        assert person.screen == "Notice"
        await person.press("enter")

    at_keyboard(scene, SIZE, go)
    assert files(scene) == ["one", "two"]


def test_a_project_where_nothing_happened_yet(cli: InProcess) -> None:
    scene = Scene(cli)
    scene.path.unlink()

    async def go(person: Person) -> None:
        assert [item.text for item in person.items()] == ["First checkpoint", "Now"]
        await person.press("enter")
        assert person.screen == "TimelineScreen", "now is where we are already"
        await person.press("u")
        assert person.screen == "Notice" and "no earlier state" in person.words()
        await person.press("enter", "f")
        assert "no conversations" in person.words()
        await person.press("enter", "n", "p", "x", "u")  # there is nothing that these could do
        assert person.screen == "ForksScreen"
        await person.press("escape", "d", "escape", "U")
        assert person.screen == "Notice"

    at_keyboard(scene, SIZE, go)
    assert cli.names() == [record.name for record in scene.records()]


def test_what_can_be_no_project_is_refused(scene: Scene) -> None:
    async def go(person: Person) -> None:
        assert person.screen == "Confirm" and "protect" in person.words()
        await person.press("y")
        assert person.screen == "Notice" and "home directory or a system directory" in person.words()
        await person.press("enter")

    shutil.rmtree(scene.cli.state.parent)
    scene.cli.project = scene.cli.home
    app = at_keyboard(scene, SIZE, go)
    assert isinstance(app, RewindApp) and not (scene.cli.home / ".agent").exists()


def test_the_filter_leads_to_what_it_found(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await person.type("write")  # no letter of it is a key
        await person.type(" two")
        assert [item.text for item in person.items() if item.kind == PROMPT] == ["write two"]
        await person.press("enter")
        await person.stand_on("write two", PROMPT)
        await person.press("enter", "2", "y", "enter", "escape")
        assert {item.kind for item in person.items()} >= {SESSION, PROMPT, CHECKPOINT}
        assert isinstance(person.app.screen, TimelineScreen) and not person.app.screen.filter

    at_keyboard(scene, SIZE, go)
    assert files(scene) == ["one"]
