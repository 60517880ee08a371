"""The list on the left: one line for each row, however many there are."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from rewind.controller import LANE, OPERATION, PROMPT, SESSION
from rewind.tui.parts.rows import Row, drawn, folded_at_first, rows_of

if TYPE_CHECKING:
    from rewind.checkpoint.map.by_session import Item


class TimelineList(ScrollView, can_focus=True):
    COMPONENT_CLASSES = {"timeline--cursor", "timeline--cursor-blurred"}
    DEFAULT_CSS = """
    TimelineList { overflow-x: hidden; scrollbar-size-vertical: 1; }
    TimelineList .timeline--cursor { background: $primary 35%; }
    TimelineList .timeline--cursor-blurred { background: $primary 15%; }
    """
    BINDINGS = [("up,k", "move(-1)"), ("down,j", "move(1)"), ("pageup", "page(-1)"), ("pagedown", "page(1)"),
                ("home", "jump(0)"), ("end", "jump(-1)"), Binding("enter", "choose", "Back", key_display="⏎"),
                Binding("space", "mark", "Mark", key_display="␣"), ("right,l", "unfold"), ("left,h", "fold"),
                ("z", "fold_all")]
    cursor = reactive(0)

    @dataclass
    class Moved(Message):
        """The cursor stands on another item, or on none."""

        item: Item | None

    @dataclass
    class Marked(Message):
        """Two rows are marked, the first one first: they are to be compared."""

        one: Item
        other: Item

    @dataclass
    class Chosen(Message):
        item: Item

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Row] = []
        self.items: list[Item] = []
        self.filter = ""
        self.opened: set[tuple[str, ...]] = set()
        self.folded: set[tuple[str, ...]] | None = None
        self.mark: Item | None = None

    @property
    def item(self) -> Item | None:
        return self.rows[self.cursor].item if self.cursor < len(self.rows) else None

    def show_items(self, items: list[Item], wanted: str) -> None:
        """Show other items, or filter them. The cursor stays on its item, else goes to the last one."""
        key = self.item.key if self.item else None
        self.items, self.filter = items, wanted
        if self.folded is None and items:
            self.folded = folded_at_first(items)
        self._show(key)

    def _show(self, key: tuple[str, ...] | None) -> None:
        self.rows = rows = rows_of(self.items, self.filter, self.opened, self.folded or set())
        self.virtual_size = Size(0, len(rows))
        keys = [row.item.key for row in rows]
        at = keys.index(key) if key in keys else max(0, len(rows) - 1)
        self.set_reactive(TimelineList.cursor, at)
        self.refresh()
        # The size is known only once this is laid out.
        self.call_after_refresh(self._reveal)
        self.post_message(self.Moved(self.item))

    def watch_cursor(self) -> None:
        self._reveal()
        self.refresh()
        self.post_message(self.Moved(self.item))

    def _reveal(self) -> None:
        self.scroll_to_region(Region(0, self.cursor, 1, 1), animate=False, force=True)

    def render_line(self, y: int) -> Strip:
        number = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        if number >= len(self.rows):
            return Strip.blank(width, self.rich_style)
        row = self.rows[number]
        text = drawn(row, width, time.time(), bool(self.mark and self.mark.key == row.item.key))
        text.truncate(width, pad=True)
        style = self.rich_style
        if number == self.cursor:
            name = "timeline--cursor" if self.has_focus else "timeline--cursor-blurred"
            style = self.get_component_rich_style(name)
        segments = Segment.apply_style(text.render(self.app.console), Style(bgcolor=style.bgcolor,
                                                                            color=style.color))
        return Strip([s for s in segments if s.text != "\n"]).adjust_cell_length(width, style)

    # moving

    def _go(self, at: int) -> None:
        self.cursor = max(0, min(at, len(self.rows) - 1))

    def action_move(self, by: int) -> None:
        self._go(self.cursor + by)

    def action_page(self, by: int) -> None:
        self._go(self.cursor + by * max(1, self.size.height - 1))

    def action_jump(self, at: int) -> None:
        self._go(at if at >= 0 else len(self.rows) - 1)

    def select_turn(self, session: str, turn: int) -> None:
        """Move to a turn, and unfold its session."""
        for item in self.items:
            if item.kind == PROMPT and item.session_id == session and item.turn == turn:
                self.folded = {key for key in self.folded or () if key[1] != session}
                self._show(item.key)

    # folding

    def action_unfold(self) -> None:
        """A turn shows its checkpoints, a folded session its turns."""
        item = self.item
        if item is None:
            return
        if item.under:
            self.opened.add(item.key)
        self.folded = (self.folded or set()) - {item.key}
        self._show(item.key)

    def action_fold(self) -> None:
        """A turn hides its checkpoints; what has nothing to hide folds its session."""
        item = self.item
        if item is None:
            return
        turn = next((one for one in self.items if item in one.under), item)
        if turn.key in self.opened:
            self.opened.discard(turn.key)
            self._show(turn.key)
            return
        heading = next((one for one in self.items if one.kind == SESSION and item.session_id
                        and one.session_id == item.session_id), None)
        if heading:
            self.folded = (self.folded or set()) | {heading.key}
            self._show(heading.key)

    def action_fold_all(self) -> None:
        """All sessions, or none."""
        every = {item.key for item in self.items if item.kind == SESSION}
        self.folded = set() if self.folded else every
        self._show(self.item.key if self.item else None)

    # marking

    def action_mark(self) -> None:
        """One row, then another: they are compared."""
        item, mark = self.item, self.mark
        if item is None or item.kind in (SESSION, OPERATION, LANE):
            return
        self.mark = None if mark and mark.key == item.key else mark or item
        if mark and mark.key != item.key:
            self.post_message(self.Marked(mark, item))
        self.refresh()

    def unmark(self) -> bool:
        """Remove the mark; whether there was one."""
        mark, self.mark = self.mark, None
        self.refresh()
        return mark is not None

    def action_choose(self) -> None:
        if self.item:
            self.post_message(self.Chosen(self.item))

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor; a second one on the same row chooses it."""
        number = event.y + self.scroll_offset.y
        if number >= len(self.rows):
            return
        if number == self.cursor and event.chain > 1:
            self.action_choose()
        self._go(number)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()
