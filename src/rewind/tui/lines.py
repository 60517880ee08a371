"""A scrollable sheet of lines that are drawn only when they are seen: long diffs stay quick."""

from __future__ import annotations

from rich.text import Text
from textual.binding import Binding
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip


class Lines(ScrollView, can_focus=True):
    DEFAULT_CSS = """
    Lines { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; }
    """
    BINDINGS = [Binding("j", "scroll_down", show=False), Binding("k", "scroll_up", show=False),
                Binding("space", "page_down", show=False)]

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[Text] = []

    def show(self, lines: list[Text]) -> None:
        # Assembled anew: the style of a whole text is lost where it is rendered by itself.
        lines = self.lines = [Text.assemble(line) for line in lines]
        for line in lines:
            line.expand_tabs(4)
        self.virtual_size = Size(max((line.cell_len for line in lines), default=0), len(lines))
        self.scroll_to(0, 0, animate=False)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        width = self.scrollable_content_region.width
        if y + top >= len(self.lines):
            return Strip.blank(width, self.rich_style)
        found = [s for s in self.lines[y + top].render(self.app.console) if s.text != "\n"]
        return Strip(found).apply_style(self.rich_style).crop_extend(left, left + width, self.rich_style)
