"""Every key that exists is in the footer, or one key away."""

from __future__ import annotations

import re

import pytest
from rich.text import Text
from textual.binding import Binding

from rewind.tui.parts.diff_view import DiffView
from rewind.tui.parts.timeline_list import TimelineList
from rewind.tui.screens.diff_screen import DiffScreen
from rewind.tui.screens.help import diff_help, help_lines
from rewind.tui.screens.timeline_screen import TimelineScreen

NAMES = {"slash": "/", "question_mark": "?", "space": "Space", "enter": "Enter", "escape": "Esc", "up": "↑",
         "down": "↓", "left": "←", "right": "→", "pageup": "PgUp", "pagedown": "PgDn", "home": "Home",
         "end": "End", "f5": "F5", "tab": "Tab"}


def bindings(*classes: type) -> list[Binding]:
    return [one for owner in classes for one in owner.BINDINGS if isinstance(one, Binding)]


def named(lines: list[Text]) -> set[str]:
    return {word.strip(";:,.") for line in lines for word in re.split(r"\s+", line.plain)}


@pytest.mark.parametrize(("classes", "lines"), [((TimelineList, TimelineScreen), help_lines()),
                                                ((DiffView, DiffScreen), diff_help())])
def test_every_key_is_in_the_footer_or_in_the_help(classes: tuple[type, ...], lines: list[Text]) -> None:
    words = named(lines)
    for binding in bindings(*classes):
        keys = binding.key.split(",")
        assert binding.show or any(NAMES.get(key, key) in words for key in keys), binding
