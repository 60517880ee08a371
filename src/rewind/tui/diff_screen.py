"""What an item changed, or what changed since, on the whole screen."""

from __future__ import annotations

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen
from textual.widgets import Footer, Static

from rewind.controller import PROMPT
from rewind.tui import flows
from rewind.tui.details import LONG_PATCH, MANY_FILES, Span, compared, span_of
from rewind.tui.lines import Lines
from rewind.tui.words import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.story import Item
    from rewind.controller import Controller
    from rewind.tui.app import RewindApp
    from rewind.tui.difftext import Changed


class DiffScreen(Screen[None]):
    DEFAULT_CSS = """
    DiffScreen #title { height: 1; background: $panel; padding: 0 1; }
    """
    BINDINGS = [Binding("escape,q,d", "leave", "Close", key_display="esc"),
                Binding("n,tab", "turn_over", "In this step / since then", key_display="n")]
    app: RewindApp

    def __init__(self, item: Item) -> None:
        super().__init__()
        self.item = item
        self.since = False

    def compose(self) -> ComposeResult:
        yield Static(id="title")
        yield Lines()
        footer = Footer(show_command_palette=False)
        footer.compact = True
        yield footer

    def on_mount(self) -> None:
        self.query_one(Lines).focus()
        self.load()

    @work(exclusive=True)
    async def load(self) -> None:
        found = await flows.do(self.app, "Comparing…", lambda c, p: self._compare(c))
        if found is None:
            self.dismiss(None)
            return
        span, changed = found
        self._show(span, changed)

    def _compare(self, controller: Controller) -> tuple[Span, Changed | None]:
        span = _since(controller, self.item) if self.since else span_of(controller, self.item)
        return span, compared(controller, span, MANY_FILES, LONG_PATCH) if span.old else None

    def _show(self, span: Span, found: Changed | None) -> None:
        what = "Since then, up to now" if self.since else "In this step"
        title = Text.assemble((f"{what}  ", "bold"), (one_line(self.item.text)[:60], "dim"))
        self.query_one("#title", Static).update(title)
        if found is None:
            self.query_one(Lines).show([Text(span.why, "dim")])
            return
        head = [found.summary(), Text(f"{span.old} → {span.new or 'now'}", "dim"), *found.counts]
        self.query_one(Lines).show([*head, Text(""), *found.patch])

    def action_turn_over(self) -> None:
        self.since = not self.since
        self.load()

    def action_leave(self) -> None:
        self.dismiss(None)


def _since(controller: Controller, item: Item) -> Span:
    """What going back there would take away."""
    if item.kind == PROMPT and item.session:
        code = controller.code_before(item.session.session_id, item.offset)
        return Span(code.record.name, None) if code else Span(None, None, "No checkpoint is from before it.")
    return Span(item.record.name, None) if item.record else span_of(controller, item)
