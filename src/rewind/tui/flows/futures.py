"""Forks with a directory of their own: how each is shown, compared, adopted and removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.widgets import Static

from rewind.controller import BOTH, Adopted, Controller, lane_shape
from rewind.errors import WorkNotSaved
from rewind.tui.dialogs.dialog import Ask, Confirm, Dialog, body, key_hint
from rewind.tui.dialogs.working import Working
from rewind.tui.flows import flows
from rewind.tui.flows.revert import FORK_HOW, merge
from rewind.tui.frame import Frame
from rewind.words import from_home, one_line, safe_lines

if TYPE_CHECKING:
    from rewind.checkpoint.changes.turn_changes import ChangedFile
    from rewind.checkpoint.futures.known.lane import Lane
    from rewind.checkpoint.futures.run import Ran
    from rewind.snapshot.scan.build import Progress

MOST = 3  # side by side
_STATES = {"busy": "yellow", "open": "green", "gone": "red", "half-made": "red", "half-removed": "red"}
_LOST = flows.OverridableRefusal(WorkNotSaved, "Work would be lost", "It cannot be brought back then.",
                                 "Remove it anyway")
_KEYS = "r run a command in each  ↑↓ scroll  Esc close"


def line(lane: Lane, marked: bool = False) -> Text:
    """Two lines: how far it has come, then how the last command ended and where it is."""
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append("▶" if marked else " ", "bold yellow").append("⑂ ", "blue").append(lane.name, "bold blue")
    text.append(f" · {lane.state}", _STATES.get(lane.state, "dim"))
    facts = [fact for fact in (lane_shape.turns(lane), lane_shape.size(lane)) if fact]
    text.append(f" · {' · '.join(facts)}", "dim")
    last = lane_shape.last_run(lane)
    passed = (lane.last_run or {}).get("code") == 0
    text.append("\n    ").append(f"{one_line(last)} · " if last else "", "green" if passed else "red")
    return text.append(safe_lines(lane_shape.problem(lane) or from_home(lane.dir)), "dim")


async def adopt(app: Frame, lane: Lane) -> bool:
    """Merge its code into the current code, and bring its conversation."""
    def saved(controller: Controller, progress: Progress) -> bool:
        controller.save_lane(controller.lane(lane.name))
        return True

    if not await flows.run_work(app, "Saving the fork…", saved):
        return False
    return await merge(app, "Adopt", lambda how: Adopted(lane.name, how), BOTH, FORK_HOW)


async def remove(app: Frame, lane: Lane) -> bool:
    body = [Text(lane.name, "bold"), Text(from_home(lane.dir), "dim"),
            Text("A checkpoint keeps its files, and its conversation goes to the trash; u brings both back.")]
    if not await app.push_screen_wait(Confirm("Remove this fork?", body, "Remove", dangerous=True)):
        return False
    return bool(await flows.run_or_force(app, "Removing…",
                                         lambda c, p, force: _remove(c, lane.name, force), _LOST))


def _remove(controller: Controller, name: str, force: bool) -> bool:
    controller.remove_lane(controller.lane(name), force=force)
    return True


async def compare(app: Frame, lanes: list[Lane]) -> bool:
    names = [lane.name for lane in lanes]

    def looked(controller: Controller, progress: Progress) -> Any:
        found = [controller.lane(name) for name in names]
        return found, controller.compare_lanes(found)

    found = await flows.run_work(app, "Comparing…", looked)
    return bool(found and await app.push_screen_wait(CompareScreen(*found)))


class CompareScreen(Dialog[bool]):
    """Dismissed with whether a command was run, because the list shows how it ended."""

    DEFAULT_CSS = """
    CompareScreen > .box { width: 110; height: 90%; }
    CompareScreen .body { height: 1fr; max-height: 100%; }
    """
    BINDINGS = [("escape,q,c", "leave"), ("r", "run"), ("down,j", "scroll(1)"), ("up,k", "scroll(-1)"),
                ("pagedown", "scroll(10)"), ("pageup", "scroll(-10)")]
    app: Frame

    def __init__(self, lanes: list[Lane], files: dict[str, list[ChangedFile | None]]) -> None:
        super().__init__("Compare forks")
        self.lanes = lanes
        self.files = files
        self.command = ""
        self.ran: list[Ran] = []

    def compose(self) -> ComposeResult:
        with self.box():
            yield body(Static(self._table(), id="table"))
            yield key_hint(_KEYS)

    def _table(self) -> RenderableType:
        table = Table(box=None, pad_edge=False, expand=False)
        table.add_column("", no_wrap=True, overflow="ellipsis", ratio=2)
        for lane in self.lanes:
            table.add_column(Text(lane.name, "bold blue"), overflow="fold")
        for path, found in self.files.items():
            table.add_row(Text(safe_lines(path)), *map(_cell, found))
        table.add_row(Text("all files", "bold"), *(Text(lane_shape.size(lane)) for lane in self.lanes))
        table.add_row(Text("turns", "bold"), *(Text(lane_shape.turns(lane) or "–") for lane in self.lanes))
        if self.ran:
            table.add_row(Text(one_line(self.command), "bold"), *map(_ended, self.ran))
            table.add_row(Text("last line", "dim"), *(Text(one_line(one.last_line), "dim")
                                                      for one in self.ran))
        return table

    @work(exclusive=True)
    async def action_run(self) -> None:
        question = "A command, run by sh in the directory of each fork"
        command = await self.app.push_screen_wait(Ask("Run in each", question, self.command or "pytest -q"))
        if not command:
            return
        running = Running(self.app, self.lanes, command)
        ran = await flows.report_if_failed(self.app, await self.app.push_screen_wait(running))
        if ran is None:
            return
        self.command, self.ran = command, ran
        self.query_one("#table", Static).update(self._table())
        self.query_one(".body").scroll_end(animate=False)

    def action_leave(self) -> None:
        self.dismiss(bool(self.ran))


def _cell(one: ChangedFile | None) -> Text:
    styles = {"added": "green", "deleted": "red"}
    return Text(lane_shape.change_words(one), styles.get(one["status"], "") if one else "")


def _ended(one: Ran) -> Text:
    if one.stopped:
        return Text("stopped", "yellow")
    return Text(lane_shape.run_words(one), "bold green" if one.code == 0 else "bold red")


class Running(Working):
    """Run a command in one fork after the other; Esc stops it and leaves out the rest."""

    BINDINGS = [("escape,q", "stop")]
    may_be_stopped = True

    def __init__(self, app: Frame, lanes: list[Lane], command: str) -> None:
        self.stopped = False
        self.names = [lane.name for lane in lanes]
        self.host = app.host
        super().__init__(f"Running {one_line(command)}  (Esc stops it)",
                         lambda progress: self._run_all(command, progress))

    def _run_all(self, command: str, progress: Progress) -> list[Ran]:
        found = []
        with self.host.open() as controller:
            for number, name in enumerate(self.names):
                progress(f"Running {one_line(command)} in {name}  (Esc stops it)", number, len(self.names))
                lane = controller.lane(name)
                found.append(controller.run_in_lane(lane, ["sh", "-c", command], lambda: self.stopped))
        return found

    def action_stop(self) -> None:
        self.stopped = True
