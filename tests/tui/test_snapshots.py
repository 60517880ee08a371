"""Every screen as it looks, small and large, light and dark; the pictures are in `snapshots/`."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Awaitable
from typing import Any, Callable

import pytest
from picture_of import compare, needs_the_pinned, without_blinking
from scene_tui import SIZES, Person, at_keyboard

from chat_scene import Scene, client_is_running
from cli.conftest import InProcess
from rewind.checkpoint.story import CHECKPOINT, PROMPT
from rewind.tui import details, flows, forks_screen, outcome, rows, timeline_screen
from rewind.tui.working import Working

looks = pytest.mark.parametrize(
    ("size", "light"), [(size, light) for size in SIZES for light in (False, True)],
    ids=[f"{x}x{y}-{how}" for x, y in SIZES for how in ("dark", "light")])


@pytest.fixture(autouse=True)
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times, places and commands that are the same in every run."""
    needs_the_pinned()
    monkeypatch.setattr(timeline_screen, "_LOOK_AGAIN", 3600.0)  # else what is behind depends on the machine
    for room in (rows, forks_screen):
        monkeypatch.setattr(room, "age", lambda then, now=None: "2m" if then else "")
    monkeypatch.setattr(details, "clock", lambda then: "2026-11-15 10:15")
    for place in (details, flows, timeline_screen):
        monkeypatch.setattr(place, "from_home", lambda folder: "~/shop")

    class Steady(outcome.Outcome):
        def __init__(self, title: str, body: list[Any], command: str = "") -> None:
            id_ = "00000000-0000-4000-8000-000000000000"
            super().__init__(title, body, f"cd /home/me/shop && claude --resume {id_}" if command else "")

    for room in (flows, forks_screen, timeline_screen):
        monkeypatch.setattr(room, "Outcome", Steady)


@pytest.fixture
def scene(cli: InProcess) -> Scene:
    scene = Scene(cli)
    for number, name in enumerate(("one", "two", "three"), 1):
        scene.save("UserPromptSubmit", promptId=f"p{number}")
        scene.do(f"write {name}", **{name: f"{name}\n" * number})
        scene.save("Stop", promptId=f"p{number}")
    scene.controller().save("all is well")
    return scene


class Album:
    """Compares as it goes, and tells everything at the end: one look shows all that has changed."""

    def __init__(self, size: tuple[int, int], light: bool) -> None:
        self.suffix = f"{size[0]}x{size[1]}-{'light' if light else 'dark'}"
        self.problems: list[str] = []

    async def take(self, person: Person, name: str) -> None:
        await person.calm()
        without_blinking(person.app)
        await person.pilot.pause()
        problem = compare(person.app, f"{name}-{self.suffix}")
        self.problems += [problem] if problem else []

    def look(self, scene: Scene, size: tuple[int, int], light: bool,
             what: Callable[[Person], Awaitable[None]]) -> None:
        at_keyboard(scene, size, what, light=light)
        assert not self.problems, "\n\n".join(self.problems)


@looks
def test_the_screens_that_only_look(scene: Scene, size: tuple[int, int], light: bool) -> None:
    album = Album(size, light)

    async def look(person: Person) -> None:
        await album.take(person, "now")
        await person.stand_on("write two", PROMPT)
        await album.take(person, "prompt")
        await person.stand_on("all is well", CHECKPOINT)
        await album.take(person, "checkpoint")
        await person.press("question_mark")
        await album.take(person, "help")
        await person.press("escape", "slash")
        await person.type("two")
        await album.take(person, "filter")
        await person.type("x")
        await album.take(person, "filter-nothing")
        await person.press("escape")
        await person.stand_on("write two", PROMPT)
        await person.press("d")
        await album.take(person, "diff")
        await person.press("n")
        await album.take(person, "diff-since")

    album.look(scene, size, light, look)


@looks
def test_the_screens_on_the_way_back(scene: Scene, size: tuple[int, int], light: bool) -> None:
    album = Album(size, light)

    async def look(person: Person) -> None:
        await person.stand_on("First checkpoint", CHECKPOINT)
        await person.press("enter")
        await album.take(person, "intent-code-only")
        await person.press("escape", "s")
        await album.take(person, "save")
        await person.press("escape", "r")
        await album.take(person, "nothing-to-redo")
        await person.press("enter")
        await person.stand_on("write two", PROMPT)
        await person.press("enter")
        await album.take(person, "intent")
        await person.press("1")
        await album.take(person, "plan")
        await person.press("y")
        await album.take(person, "outcome")
        await person.press("enter")
        await person.stand_on("write two", PROMPT)
        await album.take(person, "after")
        await person.press("f", "down")
        await album.take(person, "forks")
        await person.press("n")
        await album.take(person, "rename")
        await person.press("escape", "x")
        await album.take(person, "delete")

    album.look(scene, size, light, look)


@looks
def test_the_screens_that_ask_and_wait(scene: Scene, size: tuple[int, int], light: bool) -> None:
    album, done = Album(size, light), threading.Event()
    client_is_running(scene.cli.home, scene.session, status="busy")
    scene.cli.state.joinpath("session.json").write_text(json.dumps(
        {"format": 1, "agent": "claude", "session_id": scene.session, "transcript_path": str(scene.path),
         "running": True, "pid": os.getpid(), "recent": []}))

    def work(progress: Callable[[str, int, int], None]) -> None:
        progress("Restoring", 30, 120)
        done.wait(30)

    async def look(person: Person) -> None:
        await person.stand_on("write two", PROMPT)
        await person.press("enter", "2", "y")
        await album.take(person, "at-work")
        await person.press("n")
        person.app.push_screen(Working("Going back…", work))
        await person.until(lambda: person.app.screen.has_class("late"))
        await person.until(lambda: "Restoring" in person.words())
        problem = compare(person.app, f"progress-{album.suffix}")
        album.problems += [problem] if problem else []
        done.set()
        await person.calm()

    album.look(scene, size, light, look)


@looks
def test_the_question_of_a_directory_that_is_not_protected(scene: Scene, size: tuple[int, int],
                                                           light: bool) -> None:
    album = Album(size, light)
    shutil.rmtree(scene.cli.state.parent)

    async def look(person: Person) -> None:
        await album.take(person, "not-protected")
        await person.press("n")

    album.look(scene, size, light, look)
