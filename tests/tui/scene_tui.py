"""A project with a conversation, and a person at the keyboard of the terminal UI."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import Any, Callable, Optional

from textual.pilot import Pilot
from textual.widgets import Static

from chat_scene import Scene
from rewind.checkpoint.map.by_session import Item
from rewind.tui.app import Host, RewindApp
from rewind.tui.dialogs.working import Working
from rewind.tui.parts.timeline_list import TimelineList
from rewind.tui.screens.timeline_screen import TimelineScreen

SIZE, WIDE = (80, 24), (160, 50)
_PATIENCE = 90.0  # seconds: other tests may have the processors


class Person:
    """Presses keys, and waits until the work that they started is done."""

    def __init__(self, app: RewindApp, pilot: Pilot[Any]) -> None:
        self.app = app
        self.pilot = pilot

    async def until(self, true: Callable[[], bool]) -> None:
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            await self.pilot.pause()
            if true():
                return
            await asyncio.sleep(0.02)
        raise AssertionError(f"it never came about; on the screen is {self.app.screen!r}: {self.words()}")

    async def calm(self) -> None:
        """Nothing is being worked on, and the preview is that of the item with the cursor."""
        await self.pilot.pause()
        await self.until(lambda: self.app._exit or (
            not isinstance(self.app.screen, Working) and self._is_shown()))

    def _is_shown(self) -> bool:
        screen = self.app.screen
        if not isinstance(screen, TimelineScreen):
            return True
        item = self.timeline.item
        return screen.project_map is not None and (item is None or screen._shown == item.key)

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)
            await self.calm()

    async def type(self, text: str) -> None:
        for char in text:
            await self.pilot.press("space" if char == " " else char)
        await self.calm()

    @property
    def timeline(self) -> TimelineList:
        return self.app.screen_stack[1].query_one(TimelineList)

    def items(self) -> list[Item]:
        return [row.item for row in self.timeline.rows]

    async def stand_on(self, text: str, kind: Optional[str] = None) -> None:
        found = [at for at, item in enumerate(self.items())
                 if text in item.text and kind in (None, item.kind)]
        assert found, (text, [item.text for item in self.items()])
        self.timeline.cursor = found[0]
        await self.calm()

    def words(self) -> str:
        """What can be read on the topmost screen."""
        return "\n".join(str(widget.render()) for widget in self.app.screen.query(Static))

    @property
    def screen(self) -> str:
        return type(self.app.screen).__name__


def at_keyboard(scene: Scene, size: tuple[int, int], what: Callable[[Person], Awaitable[None]],
                **host: Any) -> RewindApp:
    """Let a person do something; the application as it was left."""
    app = RewindApp(Host(str(scene.cli.project), **host))

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            person = Person(app, pilot)
            await person.until(lambda: len(app.screen_stack) > 1)
            await person.calm()
            await what(person)

    asyncio.run(run())
    return app
