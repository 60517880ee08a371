"""What an item changed, what changed since, or what differs between two: on the whole screen. Files and hunks
of it can be brought back."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen
from textual.widgets import Static

from rewind.controller import NOW, PROMPT, Controller
from rewind.tui.dialogs.dialog import Notice
from rewind.tui.flows import flows, revert
from rewind.tui.frame import Frame, footer
from rewind.tui.parts.details import LONG_PATCH, MANY_FILES, Span, compared, span_of
from rewind.tui.parts.diff_view import DiffView
from rewind.tui.parts.difftext import Changed
from rewind.tui.screens.blame_screen import BlameScreen
from rewind.tui.screens.help import diff_help
from rewind.words import one_line

if TYPE_CHECKING:
    from rewind.checkpoint.map.by_session import Item

_NOTHING = "Nothing differs here. n: what changed since; Esc: back."


class DiffScreen(Screen[bool]):
    """With two items, the difference between them. Dismissed with whether something was brought back."""

    DEFAULT_CSS = """
    DiffScreen #title { height: 1; background: $panel; padding: 0 1; }
    """
    BINDINGS = [Binding("b,enter", "bring_back", "Bring back", key_display="b"),
                Binding("n,tab", "turn_over", "Step / since", key_display="n"), ("x", "swap", "Swap sides"),
                ("w", "blame", "Who wrote it"), ("U", "undo"),
                Binding("question_mark", "help", "Help", key_display="?"),
                Binding("escape,q,d", "leave", "Close", key_display="esc")]
    app: Frame

    def __init__(self, item: Item, other: Item | None = None) -> None:
        super().__init__()
        self.item = item
        self.other = other  # the later one
        self.since = self.swapped = False
        self.span: Span | None = None
        self.changed = False

    def compose(self) -> ComposeResult:
        yield Static(id="title")
        yield DiffView()
        yield footer()

    def on_mount(self) -> None:
        self.query(DiffView).focus()
        self.load()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "turn_over":
            return self.other is None
        if action == "swap":
            return bool(self.other and self.span and self.span.new)
        return True

    @work(exclusive=True)
    async def load(self) -> None:
        await self._load()

    async def _load(self) -> None:
        found = await flows.run_work(self.app, "Comparing…", lambda c, p: self._compare(c))
        if found is None:
            self.dismiss(self.changed)
            return
        self.span, changed = found
        self._show(found[0], changed)
        self.refresh_bindings()

    def _compare(self, controller: Controller) -> tuple[Span, Changed | None]:
        if self.other:
            span = span_between(controller, self.item, self.other)
            if self.swapped and span.new:
                span = Span(span.new, span.old)
        else:
            span = span_since(controller, self.item) if self.since else span_of(controller, self.item)
        return span, compared(controller, span, MANY_FILES, LONG_PATCH) if span.old else None

    def _show(self, span: Span, found: Changed | None) -> None:
        self.query_one("#title", Static).update(self._title())
        view = self.query_one(DiffView)
        if found is None or not found.files:
            view.show([Text(span.why or _NOTHING, "dim")], [None])
            return
        head = [found.summary(), Text(f"{span.old} → {span.new or 'now'}", "dim")]
        counted: list[tuple[bytes, str] | None] = [(path, "") for path in found.paths]
        more = [None] * (len(found.counts) - len(counted))
        view.show([*head, *found.counts, Text(""), *found.patch],
                  [None, None, *counted, *more, None, *found.parts])

    def _title(self) -> Text:
        if self.other:
            names = [self.item, self.other][::-1 if self.swapped else 1]
            one, two = (one_line(item.text)[:40] for item in names)
            return Text.assemble(("Compared  ", "bold"), (f"{one} → {two}", "dim"))
        what = "Since then, up to now" if self.since else "In this step"
        return Text.assemble((f"{what}  ", "bold"), (one_line(self.item.text)[:60], "dim"))

    # keys

    def action_turn_over(self) -> None:
        self.since = not self.since
        self.load()

    def action_swap(self) -> None:
        self.swapped = not self.swapped
        self.load()

    def action_undo(self) -> None:
        """Undo the last operation, such as bringing back a moment ago."""
        self.app.expect_dialog()
        self.run_flow(flows.undo_restore(self.app))

    def action_bring_back(self) -> None:
        chosen = self.query_one(DiffView).chosen()
        if not self.span or not self.span.old or not chosen:
            self.notify("Stand on a file or a hunk, or mark some with Space.")
            return
        self.app.expect_dialog()
        self.run_flow(revert.bring_back(self.app, self.span, chosen))

    @work(exclusive=True)
    async def run_flow(self, flow: Awaitable[bool]) -> None:
        try:
            done = await flow
        finally:
            self.app.starting = 0
        if done:
            self.changed = True
            await self._load()

    def action_blame(self) -> None:
        part = self.query_one(DiffView).part
        if part is None:
            self.notify("Stand on a file to see who wrote its lines.")
            return
        self.app.push_screen(BlameScreen(part[0]), self._opened)

    def _opened(self, turn: tuple[str, int] | None) -> None:
        """A turn was chosen in the blame: it is shown in the list."""
        if turn:
            self.app.show_turn = turn
            self.dismiss(self.changed)

    def action_help(self) -> None:
        self.app.push_screen(Notice("Keys of the diff", diff_help()))

    def action_leave(self) -> None:
        self.dismiss(self.changed)


def span_since(controller: Controller, item: Item) -> Span:
    """What going back there would undo."""
    name = checkpoint_name_of(controller, item)
    return Span(name, None) if name else Span(None, None, "No checkpoint is from before it.")


def span_between(controller: Controller, one: Item, other: Item) -> Span:
    """From the state that one item stands for to that of the other."""
    earlier, later = (other, one) if one.kind == NOW else (one, other)
    old, new = checkpoint_name_of(controller, earlier), checkpoint_name_of(controller, later)
    if old is None or (new is None and later.kind != NOW):
        return Span(None, None, "One of the two has no checkpoint, so there is nothing to compare.")
    return Span(old, new)


def checkpoint_name_of(controller: Controller, item: Item) -> str | None:
    """The checkpoint that an item stands for: before a prompt, or the checkpoint itself. None is now."""
    if item.kind == PROMPT and item.session:
        code = controller.code_before(item.session.session_id, item.offset)
        return code.record.name if code else None
    return item.record.name if item.record else None
