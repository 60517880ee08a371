"""Work that takes time: it runs in a thread with a connection of its own, while the screen shows its
progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import ProgressBar, Static

from rewind.errors import RewindError
from rewind.words import explain_os_error, safe

if TYPE_CHECKING:
    from rewind.snapshot.scan.build import Progress

_EVERY = 0.1
_PATIENCE = 0.3  # seconds before the box is drawn, so that quick work does not flicker


class Failure:
    """What went wrong, in a sentence, and what to do next."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        if isinstance(error, RewindError):
            self.message, self.hint = error.message, error.hint
        elif isinstance(error, OSError):
            message, self.hint = explain_os_error(error)
            self.message = safe(message)
        else:
            self.message = f"This is a bug in Rewind ({type(error).__name__}: {error})."
            self.hint = "Nothing is lost. Please report it; `rewind validate` checks the store."

    def text(self) -> list[Text]:
        return [Text(self.message), Text(self.hint, "dim")]


class Working(ModalScreen["Any"]):
    DEFAULT_CSS = """
    Working { background: transparent; }
    Working > .box { visibility: hidden; padding: 0 2; }
    Working.late > .box { visibility: visible; }
    Working ProgressBar { margin-top: 1; }
    """

    may_be_stopped = False  # if so, it gets the keys

    def __init__(self, title: str, work: Callable[[Progress], Any]) -> None:
        super().__init__(classes="dialog")
        self.heading = title
        self.work = work
        self._last = 0.0

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Static(self.heading, id="what", markup=False)
            yield ProgressBar(show_eta=False)

    def action_stop(self) -> None:
        """Overridden where the work may be stopped."""

    def on_mount(self) -> None:
        self.set_timer(_PATIENCE, lambda: self.add_class("late"))
        self.run_worker(self._run, thread=True)

    def _run(self) -> None:
        try:
            result = self.work(self._progress)
        except Exception as error:
            result = Failure(error)
        self.app.call_from_thread(self.dismiss, result)

    def _progress(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last >= _EVERY:
            self._last = now
            self.app.call_from_thread(self._draw, what, done, total)

    def _draw(self, what: str, done: int, total: int) -> None:
        self.query_one("#what", Static).update(Text(what))
        self.query_one(ProgressBar).update(total=total or None, progress=done)
