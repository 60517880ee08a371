"""Keys that are typed ahead or pasted reach the right widget: each is handled before the next.

Textual 8 hands every key to the widget that has the focus at that moment, and looks for its binding only when
it has come back from there. If `/step 77` arrives at once, the letters would be commands of the list, because
the box that `/` opens gets the focus too late.
"""

from __future__ import annotations

from collections import deque

from textual import events
from textual.app import App
from textual.message import Message

_ROUNDS = 2  # the key itself, and the messages that its action has sent
_LOOK_AGAIN = 0.02
_AT_ONCE = ("ctrl+c", "ctrl+q")  # they wait for nothing, and what was typed before them is dropped


class KeyDone(Message):
    """Follows a key on its way through the widgets."""


class KeysInOrder(App[str]):
    starting = 0  # how many screens there will be once the expected dialog is open

    def __init__(self) -> None:
        super().__init__()
        self._typed: deque[events.Key] = deque()
        self._rounds = 0  # that the current key still has to go

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and not event.is_forwarded:
            if event.key in _AT_ONCE:
                self._typed.clear()
            self._typed.append(event)
            await self._next_key()
        else:
            await super().on_event(event)

    async def _next_key(self) -> None:
        if self._rounds or not self._typed:
            return
        if not self._is_ready(self._typed[0]):
            self.set_timer(_LOOK_AGAIN, self._next_key)
            return
        self._rounds = _ROUNDS
        await super().on_event(self._typed.popleft())
        self._follow()

    def _follow(self) -> None:
        (self.focused or self.screen).post_message(KeyDone())

    def on_key_done(self) -> None:
        self.call_later(self._one_round_less)

    async def _one_round_less(self) -> None:
        self._rounds = max(0, self._rounds - 1)
        if self._rounds:
            self._follow()
        else:
            await self._next_key()

    def expect_dialog(self) -> None:
        """Keys typed from here on are for the dialog that opens next."""
        self.starting = len(self.screen_stack) + 1

    def _is_ready(self, key: events.Key) -> bool:
        """Whether the screen that a key was typed for is open; never while work is under way."""
        return key.key in _AT_ONCE or (len(self.screen_stack) >= self.starting and not self.is_working)

    @property
    def is_working(self) -> bool:
        return False
