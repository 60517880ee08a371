"""Keys that are typed ahead or pasted go where they were typed: each is dealt with before the next.

Textual 8 hands every key to the widget that has the focus at that moment, and looks for its binding only when
it has come back from there. Of `/step 77` in one go, the letters would be commands of the list, for the box
that `/` opens gets the focus too late.
"""

from __future__ import annotations

from collections import deque

from textual import events
from textual.app import App
from textual.message import Message

_ROUNDS = 2  # the key itself, and the messages that its action has sent
_LOOK_AGAIN = 0.02


class KeyDone(Message):
    """Takes the same way as a key, right behind it."""


class KeysInOrder(App[str]):
    starting = False  # something was chosen, and its dialog is about to come up

    def __init__(self) -> None:
        super().__init__()
        self._typed: deque[events.Key] = deque()
        self._rounds = 0  # that the key under way has still to go

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key) and not event.is_forwarded:
            self._typed.append(event)
            await self._next_key()
        else:
            await super().on_event(event)

    async def _next_key(self) -> None:
        if self._rounds or not self._typed:
            return
        if self.starting and not self._dialog_is_up():
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

    def _dialog_is_up(self) -> bool:
        return len(self.screen_stack) > 2
