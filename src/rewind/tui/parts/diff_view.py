"""A patch with a cursor: files and hunks can be marked. Lines are drawn only when they are seen."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from rewind.tui.parts.difftext import Part

_GUTTER = 2


class DiffView(ScrollView, can_focus=True):
    COMPONENT_CLASSES = {"diff--cursor", "diff--part"}
    DEFAULT_CSS = """
    DiffView { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; }
    DiffView .diff--cursor { background: $primary 40%; }
    DiffView .diff--part { background: $primary 12%; }
    """
    BINDINGS = [("up,k", "move(-1)"), ("down,j", "move(1)"), ("pageup", "page(-1)"), ("pagedown", "page(1)"),
                ("home,g", "jump(0)"), ("end,G", "jump(-1)"), ("right,l,J", "part(1)"),
                ("left,h,K", "part(-1)"), Binding("space", "mark", "Mark", key_display="␣"),
                ("a", "mark_all")]
    cursor = reactive(0)

    class Moved(Message):
        """The cursor stands on another line."""

    def __init__(self, *, can_mark: bool = True) -> None:
        super().__init__()
        self.can_mark = can_mark
        self.lines: list[Text] = []
        self.parts: list[Part] = []
        self.marked: set[tuple[bytes, str]] = set()

    def show(self, lines: list[Text], parts: list[Part]) -> None:
        # Assembled anew: the style of a whole text is lost where it is rendered by itself.
        self.lines = [Text.assemble(line) for line in lines]
        for line in self.lines:
            line.expand_tabs(4)
        self.parts = parts
        self.marked = set()
        width = max((line.cell_len for line in self.lines), default=0) + _GUTTER
        self.virtual_size = Size(width, len(self.lines))
        first = next((at for at, part in enumerate(parts) if part), 0)
        self.set_reactive(DiffView.cursor, first)
        self.scroll_to(0, 0, animate=False)
        self.refresh()
        self.post_message(self.Moved())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.can_mark or not action.startswith("mark")

    # what is under the cursor, and what is marked

    @property
    def part(self) -> Part:
        return self.parts[self.cursor] if self.cursor < len(self.parts) else None

    def chosen(self) -> dict[bytes, list[str]]:
        """The marked hunks by path, else the one under the cursor. No hunks: the whole file."""
        marked = self.marked or ({self.part} if self.part else set())
        found: dict[bytes, list[str]] = {}
        for path, hunk in sorted(marked):
            found.setdefault(path, [])
            if (path, "") not in marked:
                found[path].append(hunk)
        return found

    def _is_marked(self, part: Part) -> bool:
        return part is not None and (part in self.marked or (part[0], "") in self.marked)

    def action_mark(self) -> None:
        """Mark the hunk, or on the name of a file the file, and go to the next one."""
        part = self.part
        if part is None:
            self.action_part(1)
            return
        if self._is_marked(part):
            self._unmark(part)
        else:
            self.marked.add(part)
        self.refresh()
        self.action_part(1)

    def _unmark(self, part: tuple[bytes, str]) -> None:
        path, hunk = part
        if hunk and (path, "") in self.marked:  # all of the file but this hunk
            others = {one for one in self.parts if one and one[0] == path and one[1]}
            self.marked = (self.marked - {(path, "")}) | others
        self.marked = {one for one in self.marked if one != part and (hunk or one[0] != path)}

    def action_mark_all(self) -> None:
        every = {(part[0], "") for part in self.parts if part}
        self.marked = set() if self.marked == every else every
        self.refresh()

    # moving

    def watch_cursor(self) -> None:
        self.scroll_to_region(Region(self.scroll_offset.x, self.cursor, 1, 1), animate=False, force=True)
        self.refresh()
        self.post_message(self.Moved())

    def _go(self, at: int) -> None:
        self.cursor = max(0, min(at, len(self.lines) - 1))

    def action_move(self, by: int) -> None:
        self._go(self.cursor + by)

    def action_page(self, by: int) -> None:
        self._go(self.cursor + by * max(1, self.size.height - 1))

    def action_jump(self, at: int) -> None:
        self._go(at if at >= 0 else len(self.lines) - 1)

    def action_part(self, by: int) -> None:
        """To the beginning of the next file or hunk, or of the one before."""
        starts = [at for at, part in enumerate(self.parts)
                  if part and (not at or self.parts[at - 1] != part)]
        later = [at for at in starts if at > self.cursor] if by > 0 else [
            at for at in starts[::-1] if at < self.cursor]
        if later:
            self._go(later[0])
            self._show_whole(later[0])

    def _show_whole(self, start: int) -> None:
        """As much of the hunk as there is room for."""
        end = start
        while end + 1 < len(self.parts) and self.parts[end + 1] == self.parts[start]:
            end += 1
        height = min(end - start + 1, max(1, self.size.height))
        self.scroll_to_region(Region(0, start, 1, height), animate=False, force=True)

    def on_click(self, event: events.Click) -> None:
        number = event.y + self.scroll_offset.y
        if number < len(self.lines):
            self._go(number)
            if self.can_mark and (event.x + self.scroll_offset.x < _GUTTER or event.chain > 1):
                self.action_mark()

    # drawing

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        width = self.scrollable_content_region.width
        number = y + top
        if number >= len(self.lines):
            return Strip.blank(width, self.rich_style)
        part = self.parts[number]
        gutter = Text("▌ ", "bold yellow") if self._is_marked(part) else Text("  ")
        found = [s for s in Text.assemble(gutter, self.lines[number]).render(self.app.console)
                 if s.text != "\n"]
        style = self.rich_style + self._background(number, part)
        return Strip(found).crop_extend(left, left + width, style).apply_style(style)

    def _background(self, number: int, part: Part) -> Style:
        if number == self.cursor:
            name = "diff--cursor"
        elif part and part == self.part:
            name = "diff--part"
        else:
            return Style()
        return Style(bgcolor=self.get_component_rich_style(name).bgcolor)
