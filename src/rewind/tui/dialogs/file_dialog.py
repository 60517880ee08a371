"""Choose a file from a list that gets shorter as the person types."""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from rewind.tui.dialogs.dialog import Dialog, key_hint
from rewind.tui.parts.screen_words import path

_MOST = 500  # files that are listed at once


class ChooseFile(Dialog["bytes | None"]):
    DEFAULT_CSS = """
    ChooseFile > .box { height: 80%; }
    ChooseFile OptionList { height: 1fr; margin: 1 0; }
    """
    BINDINGS = [("escape", "leave"), Binding("down", "move(1)", priority=True),
                Binding("up", "move(-1)", priority=True)]

    def __init__(self, title: str, files: list[bytes]) -> None:
        super().__init__(title)
        self.files = files
        self.shown: list[bytes] = []

    def compose(self) -> ComposeResult:
        with self.box():
            yield Input(placeholder="a part of its name", compact=True)
            yield OptionList()
            yield key_hint("Type to filter, ↑ ↓ and Enter choose, Esc cancels")

    def on_mount(self) -> None:
        self.query(Input).focus()
        for options in self.query(OptionList):
            options.can_focus = False
            self._list("")

    @on(Input.Changed)
    def filtered(self, event: Input.Changed) -> None:
        self._list(event.value)

    def _list(self, wanted: str) -> None:
        words = wanted.casefold().split()
        fitting = [name for name in self.files if all(word in path(name).casefold() for word in words)]
        self.shown = fitting[:_MOST]
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([Option(Text(path(name))) for name in self.shown])
        if len(fitting) > _MOST:
            options.add_option(Option(Text(f"… and {len(fitting) - _MOST:,} more: type to filter", "dim"),
                                      disabled=True))
        if not fitting:
            options.add_option(Option(Text("No file has that in its name.", "dim"), disabled=True))
        options.highlighted = 0 if self.shown else None

    @on(Input.Submitted)
    def accepted(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is not None and at < len(self.shown):
            self.dismiss(self.shown[at])

    @on(OptionList.OptionSelected)
    def clicked(self, event: OptionList.OptionSelected) -> None:
        if event.option_index < len(self.shown):
            self.dismiss(self.shown[event.option_index])
