"""The main screen: the timeline, the preview beside it, and the keys."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, Static

from rewind.controller import CHECKPOINT, EDIT, LANE, NOW, OPERATION, PROMPT, SESSION, Controller
from rewind.errors import NotInitialised
from rewind.tui.dialogs.dialog import Notice
from rewind.tui.dialogs.working import Failure
from rewind.tui.flows import flows, revert
from rewind.tui.frame import Frame, footer
from rewind.tui.parts.advice import advice
from rewind.tui.parts.details import preview
from rewind.tui.parts.timeline_list import TimelineList
from rewind.tui.screens.blame_screen import blame_a_file
from rewind.tui.screens.diff_screen import DiffScreen
from rewind.tui.screens.forks_screen import ForksScreen
from rewind.tui.screens.help import help_lines
from rewind.words import from_home, plural, safe_lines

if TYPE_CHECKING:
    from rewind.checkpoint.map.by_session import Item, ProjectMap

_CALM = 0.12  # seconds on an item before its preview is worked out
_LOOK_AGAIN = 2.0


class TimelineScreen(Screen[None]):
    BINDINGS = [Binding("slash", "filter", "Find", key_display="/"), ("d", "diff", "Diff"),
                ("v", "revert", "Revert"), ("b", "blame", "Blame"), ("s", "flow('save')", "Save"),
                ("u", "flow('undo')", "Undo"), ("r", "flow('redo')"), ("U", "flow('undo_restore')"),
                ("f", "forks", "Forks"), Binding("question_mark", "help", "Help", key_display="?"),
                ("q", "quit", "Quit"), ("t", "theme"), ("escape", "all"), ("f5", "reload")]
    app: Frame

    def __init__(self) -> None:
        super().__init__()
        self.project_map: ProjectMap | None = None
        self.filter = ""
        self._stamp = ""
        self._shown: tuple[str, ...] | None = None
        self.advice: list[str] = []
        self._pause: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="top")
        yield Static(id="warning")
        with Horizontal(id="main"):
            with Vertical(id="left"):
                # Its text is not selected on focus: the next letter would replace the one that opened it.
                yield Input(placeholder="words to look for", id="filter", compact=True, select_on_focus=False)
                yield TimelineList()
            with VerticalScroll(id="right"):
                yield Static(id="preview")
        yield footer()

    def on_mount(self) -> None:
        self.query_one("#filter").display = False
        self.query_one("#warning").display = False
        self.query_one(TimelineList).focus()
        self.begin()
        self.set_interval(_LOOK_AGAIN, self.look_again)

    # loading

    @work(exclusive=True, group="flow")
    async def begin(self) -> None:
        await self._load()

    async def _load(self) -> None:
        if self.project_map is None:
            found = await flows.attempt(self.app, "Reading the history of this project…", _read)
        else:  # in the background, so that keys still arrive
            found = await asyncio.to_thread(self._read_quietly)
        if not self.query("#top"):
            return  # the person has left meanwhile
        if isinstance(found, Failure):
            await self._cannot(found)
            return
        self.project_map, self._stamp, root, interrupted, self.advice = found
        self._shown = None
        self._head(root)
        warning = self.query_one("#warning", Static)
        warning.display = bool(interrupted)
        if interrupted:
            warning.update(Text(f"{interrupted} (here: U)"))
        self._rows()

    async def _cannot(self, failure: Failure) -> None:
        if isinstance(failure.error, NotInitialised) and await flows.protect(self.app):
            await self._load()
            return
        if not isinstance(failure.error, NotInitialised):
            await self.app.push_screen_wait(Notice("Rewind cannot open this project", failure.text()))
        self.app.exit()

    def _head(self, root: str) -> None:
        assert self.project_map is not None
        counts = [plural(self.project_map.checkpoints, "checkpoint"),
                  plural(len(self.project_map.sessions), "session")]
        self.query_one("#top", Static).update(Text.assemble(
            (" Rewind ", "bold reverse"), f" {_from_the_end(root, 40)} ", (f" {' · '.join(counts)}", "dim")))

    def _rows(self) -> None:
        items = self.project_map.items if self.project_map else []
        self.query_one(TimelineList).show_items(items, self.filter)

    def _read_quietly(self) -> Any:
        try:
            with self.app.host.open() as controller:
                return _read(controller, None)
        except Exception as error:
            return Failure(error)

    @work(exclusive=True, group="look")
    async def look_again(self) -> None:
        """While an agent works here, its turns and checkpoints appear."""
        if self.project_map is None or not self.is_current:
            return
        found = await asyncio.to_thread(self._new_stamp)
        if found and found != self._stamp and self.is_current:
            await self._load()

    def _new_stamp(self) -> str:
        try:
            with self.app.host.open() as controller:
                return controller.map_stamp()
        except Exception:
            return ""  # the person's next action reports what is wrong

    # the preview

    @on(TimelineList.Moved)
    def moved(self, event: TimelineList.Moved) -> None:
        if self._pause:
            self._pause.stop()
        if self.project_map is None:
            return
        if event.item is None:
            self._show_preview(Text("Nothing matches. Esc shows everything again." if self.filter
                            else "There is nothing yet. Press s to save a checkpoint.", "dim"))
            self._shown = None
        elif event.item.key != self._shown:
            self._pause = self.set_timer(_CALM, lambda: self.look_at(event.item))

    @work(exclusive=True, group="preview", thread=True)
    def look_at(self, item: Item) -> None:
        try:
            with self.app.host.open() as controller:
                text = preview(controller, item)
                if item.kind == NOW:
                    text.append("".join(f"\n{safe_lines(line)}\n" for line in self.advice), "yellow")
        except Exception as error:
            text = Text("\n").join(Failure(error).text())
        if self.is_attached:  # the person may have left meanwhile
            self.app.call_from_thread(self._seen, item, text)

    def _seen(self, item: Item, text: Text) -> None:
        timelines = self.query(TimelineList)
        if timelines and timelines.first().item is item:
            self._shown = item.key
            self._show_preview(text)

    def _show_preview(self, text: Text) -> None:
        self.query_one("#preview", Static).update(text)
        self.query_one("#right").scroll_home(animate=False)

    # keys

    @on(TimelineList.Chosen)
    def chosen(self, event: TimelineList.Chosen) -> None:
        if event.item.kind == SESSION:
            self.continue_session(event.item)
        elif event.item.kind == LANE:
            self.action_forks(event.item.lane.session_id if event.item.lane else "")
        elif event.item.kind == NOW:
            self.notify("You are here. Choose a prompt or a checkpoint to go back to.")
        elif event.item.row and event.item.row.op:
            op = event.item.row.op
            self.run_flow(lambda app: flows.undo_operation(app, op))
        else:
            self.run_flow(lambda app: flows.go_back(app, event.item))

    @work(exclusive=True, group="flow")
    async def continue_session(self, item: Item) -> None:
        info = item.session
        if info:
            await flows.continue_with(self.app, info.name, lambda c, p: c.resume_command(info) or None)

    def action_flow(self, name: str) -> None:
        self.run_flow(getattr(flows, name))

    def run_flow(self, flow: Callable[[Frame], Awaitable[bool]]) -> None:
        self.app.expect_dialog()
        self._run_flow(flow)

    @work(exclusive=True, group="flow")
    async def _run_flow(self, flow: Callable[[Frame], Awaitable[bool]]) -> None:
        try:
            changed = await flow(self.app)
        finally:
            self.app.starting = 0
        if changed:
            await self._load()
        if self.app.show_turn:
            self._show_all()
            self.query_one(TimelineList).select_turn(*self.app.show_turn)
            self.app.show_turn = None

    def action_forks(self, at: str = "") -> None:
        self.run_flow(lambda app: app.push_screen_wait(ForksScreen(at)))

    def action_diff(self) -> None:
        timeline = self.query_one(TimelineList)
        item, mark = timeline.item, timeline.mark
        if item is None or item.kind in (SESSION, OPERATION, LANE):
            self.notify("Stand on a turn, an edit or a checkpoint to see what it changed.")
        elif mark and mark.key != item.key:
            self._compare(mark, item)
        else:
            self._open_diff(item)

    @on(TimelineList.Marked)
    def marked(self, event: TimelineList.Marked) -> None:
        self._compare(event.one, event.other)

    def _compare(self, one: Item, other: Item) -> None:
        """From the earlier one to the later."""
        items = [item.key for item in self.project_map.items] if self.project_map else []
        first, last = sorted((one, other), key=lambda item: items.index(item.key) if item.key in items else 0)
        self._open_diff(first, last)

    def _open_diff(self, item: Item, other: Item | None = None) -> None:
        self.run_flow(lambda app: app.push_screen_wait(DiffScreen(item, other)))

    def action_revert(self) -> None:
        item = self.query_one(TimelineList).item
        if item is None or item.kind not in (PROMPT, CHECKPOINT, EDIT):
            self.notify("Stand on the turn that is to be taken back.")
        else:
            self.run_flow(lambda app: revert.revert(app, item))

    def action_blame(self) -> None:
        item = self.query_one(TimelineList).item
        self.run_flow(lambda app: blame_a_file(app, item))

    def action_help(self) -> None:
        self.app.push_screen(Notice("Keys", help_lines()))

    def action_reload(self) -> None:
        self.begin()

    def action_theme(self) -> None:
        self.app.choose_light(self.app.current_theme.dark)

    def action_quit(self) -> None:
        self.app.exit(self.app.go_on)

    # the filter

    def action_filter(self, text: str = "") -> None:
        box = self.query_one("#filter", Input)
        box.display = True
        box.focus()
        if text:
            box.insert_text_at_cursor(text)

    def on_key(self, event: events.Key) -> None:
        """Any other letter begins a filter."""
        bound = event.key in self.active_bindings
        typed = event.character or ""
        if self.query_one(TimelineList).has_focus and not bound and typed.isalnum():
            event.stop()
            self.action_filter(typed)

    def on_paste(self, event: events.Paste) -> None:
        """Text that is pasted into the list becomes the filter."""
        text = " ".join(event.text.split()).removeprefix("/")
        if text and self.query_one(TimelineList).has_focus:
            event.stop()
            self.action_filter(text)

    @on(Input.Changed, "#filter")
    def filtered(self, event: Input.Changed) -> None:
        self.filter = event.value
        self._rows()

    @on(Input.Submitted, "#filter")
    def settled(self) -> None:
        self.query_one("#filter").display = bool(self.filter)
        self.query_one(TimelineList).focus()

    def action_all(self) -> None:
        """Remove the mark; if there is none, the filter."""
        if not self.query_one(TimelineList).unmark():
            self._show_all()

    def _show_all(self) -> None:
        self.filter = ""
        self._rows()
        box = self.query_one("#filter", Input)
        box.value = ""
        box.display = False
        self.query_one(TimelineList).focus()


def _read(controller: Controller, progress: object) -> tuple[ProjectMap, str, str, str, list[str]]:
    # The stamp is read first, so that changes made while the map is read are noticed at the next look.
    stamp = controller.map_stamp()
    found = controller.map()
    return (found, stamp, controller.project.root, controller.interrupted_text(), advice(controller, found))


def _from_the_end(path: str, most: int) -> str:
    path = from_home(path)
    return path if len(path) <= most else "…" + path[1 - most:]
