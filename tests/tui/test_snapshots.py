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
from scene_tui import Person, at_keyboard
from test_futures_screen import comes, futures_of, on_the_forks

from chat_scene import Scene, client_is_running
from cli.conftest import InProcess
from map_scene import Story, afternoon
from rewind.checkpoint.map.by_session import CHECKPOINT, LANE, PROMPT
from rewind.tui.dialogs import outcome
from rewind.tui.dialogs.working import Working
from rewind.tui.flows import flows, futures
from rewind.tui.parts import details, rows
from rewind.tui.parts.diff_view import DiffView
from rewind.tui.screens import blame_screen, forks_screen, timeline_screen

pytestmark = pytest.mark.slow

LOOKS = [((80, 24), True), ((120, 40), False)]  # a blame has more words from 110 columns on
looks = pytest.mark.parametrize(("size", "light"), LOOKS, ids=[
    f"{x}x{y}-{'light' if light else 'dark'}" for (x, y), light in LOOKS])


@pytest.fixture(autouse=True)
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times, places and commands that are the same in every run."""
    needs_the_pinned()
    monkeypatch.setattr(timeline_screen, "_LOOK_AGAIN", 3600.0)  # else what is behind depends on the machine
    for room in (rows, forks_screen, blame_screen):
        monkeypatch.setattr(room, "short_age", lambda then, now=None: "2m" if then else "")
    monkeypatch.setattr(details, "clock", lambda then: "2026-11-15 10:15")
    for place in (details, flows, futures, timeline_screen):
        monkeypatch.setattr(place, "from_home", lambda folder: "~/shop")

    class Steady(outcome.OutcomeDialog):
        def __init__(self, title: str, body: list[Any], command: str = "", note: str = "") -> None:
            id_ = "00000000-0000-4000-8000-000000000000"
            command = f"cd /home/me/shop && claude --resume {id_}" if command else ""
            super().__init__(title, body, command, note)

    monkeypatch.setattr(flows, "OutcomeDialog", Steady)


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
        done.wait(90)

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


LINES = "".join(f"line {n}\n" for n in range(1, 41))


@looks
def test_the_map_of_an_afternoon(cli: InProcess, size: tuple[int, int], light: bool) -> None:
    """A session, a fork, a native rewind, an edit by hand and an import."""
    album, scene = Album(size, light), afternoon(cli)

    async def look(person: Person) -> None:
        await album.take(person, "map")
        await person.stand_on("Please clean up", PROMPT)
        await person.press("right", "space")
        await album.take(person, "map-unfolded")
        await person.press("escape", "z")
        await album.take(person, "map-folded")

    album.look(scene, size, light, look)


@looks
def test_the_screens_of_one_change(cli: InProcess, size: tuple[int, int], light: bool) -> None:
    """The diff with marks, what comes back, comparing, revert and blame."""
    album, scene = Album(size, light), Story(cli)
    changed = LINES.replace("line 5\n", "five\n").replace("line 20\n", "twenty\n")
    scene.turn("Write a list of lines", a=LINES)
    scene.turn("Spell the numbers out", a=changed, b="new\n")
    scene.write(a=changed.replace("five\n", "FIVE\n") + "by hand\n")

    async def look(person: Person) -> None:
        await person.stand_on("Spell", PROMPT)
        await person.press("d")
        view = person.app.screen.query_one(DiffView)
        await person.until(lambda: len(view.lines) > 10)
        view.cursor = [line.plain for line in view.lines].index("+twenty")
        await person.press("space")
        await album.take(person, "diff-marked")
        await person.press("b")
        await album.take(person, "bring-back")
        await person.press("escape", "question_mark")
        await album.take(person, "diff-help")
        await person.press("escape", "escape", "v")
        await album.take(person, "conflict")
        await person.press("2")
        await album.take(person, "revert")
        await person.press("y")
        await album.take(person, "reverted")
        await person.press("enter", "b")
        await album.take(person, "choose-file")
        await person.press("enter")
        await album.take(person, "blame")

    album.look(scene, size, light, look)


@looks
def test_the_screens_of_several_futures(cli: InProcess, size: tuple[int, int], light: bool) -> None:
    """Their lanes in the map, the list of them, side by side, and what is asked before each act."""
    album, scene = Album(size, light), futures_of(cli)
    cli.ok("forks", "compare", "fork-1", "fork-2", "--run", "test -f notes.txt")

    async def look(person: Person) -> None:
        await person.stand_on("Make it short", LANE)
        await album.take(person, "lanes")
        await on_the_forks(person)
        await person.press("space")
        await album.take(person, "futures")
        await person.press("space", "c")
        await comes(person, "CompareScreen")
        await album.take(person, "futures-compare")
        await person.press("r")
        await comes(person, "Ask")
        await album.take(person, "futures-run")
        await person.press("escape", "escape", "a")
        await comes(person, "Confirm")
        await album.take(person, "futures-adopt")
        await person.press("escape", "x")
        await comes(person, "Confirm")
        await album.take(person, "futures-remove")
        await person.press("escape")

    album.look(scene, size, light, look)


@looks
def test_a_project_in_which_nothing_happened(cli: InProcess, size: tuple[int, int], light: bool) -> None:
    album, scene = Album(size, light), Scene(cli)
    scene.path.unlink()

    async def look(person: Person) -> None:
        await album.take(person, "empty")

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
