"""The keys of a screen, in its last line."""

from __future__ import annotations

from textual.widgets import Footer


def footer() -> Footer:
    made = Footer(show_command_palette=False)
    made.compact = True
    return made
