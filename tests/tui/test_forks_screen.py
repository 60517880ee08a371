"""The tree of sessions: renamed, promoted, deleted and brought back by keys."""

from __future__ import annotations

import pytest
from scene_tui import SIZE, Person, at_keyboard

from chat_scene import Scene
from cli.conftest import InProcess
from rewind.tui.screens.forks_screen import ForksScreen

pytestmark = pytest.mark.slow


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    scene = Scene(cli)
    scene.say("one", "two", "three")
    scene.controller().rewind_back(1)
    return scene


def info(scene: Scene):  # type: ignore[no-untyped-def]
    return scene.controller().session(scene.forks()[0].stem)


async def on_the_fork(person: Person) -> ForksScreen:
    await person.press("f")
    screen = person.app.screen
    assert isinstance(screen, ForksScreen)
    await person.until(lambda: len(screen.infos) == 2)
    await person.press("home", "down")
    return screen


def test_a_fork_is_renamed(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await on_the_fork(person)
        await person.press("n", "ctrl+a", "delete")
        person.app.screen.query_one("#answer").value = ""  # type: ignore[attr-defined]
        await person.type("try it otherwise")
        await person.press("enter", "escape")
        assert "try it otherwise" in [item.text for item in person.items()]

    at_keyboard(scene, SIZE, go)
    assert info(scene).name == "try it otherwise"


def test_a_fork_is_promoted_and_its_parent_folded_away(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await on_the_fork(person)
        await person.press("p", "escape")

    at_keyboard(scene, SIZE, go)
    assert (info(scene).known_fork or {}).get("promoted")
    assert scene.controller().session(scene.session).archived


def test_a_fork_is_deleted_after_a_question_and_brought_back(scene: Scene) -> None:
    [fork] = scene.forks()
    data = fork.read_bytes()

    async def go(person: Person) -> None:
        screen = await on_the_fork(person)
        await person.press("x", "n")
        assert fork.exists()
        await person.press("x", "y")
        await person.until(lambda: len(screen.infos) == 1)
        assert not fork.exists() and "trash" in person.words()
        await person.press("u")
        await person.until(lambda: len(screen.infos) == 2)

    at_keyboard(scene, SIZE, go)
    assert fork.read_bytes() == data


def test_a_session_of_the_agent_itself_is_not_deleted(scene: Scene) -> None:
    async def go(person: Person) -> None:
        screen = await on_the_fork(person)
        await person.press("home", "x", "y")
        assert person.screen == "Notice", "refused, in a sentence"
        await person.press("enter")
        assert len(screen.infos) == 2

    at_keyboard(scene, SIZE, go)
    assert scene.path.exists()


def test_enter_shows_how_to_go_on_with_a_fork(scene: Scene) -> None:
    async def go(person: Person) -> None:
        await on_the_fork(person)
        await person.press("enter")
        assert f"claude --resume {scene.forks()[0].stem}" in person.words()

    at_keyboard(scene, SIZE, go)
