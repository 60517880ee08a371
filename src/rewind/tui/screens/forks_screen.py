"""Forks with a directory of their own, then sessions and their forks as a tree: compare, adopt, rename,
promote, delete, bring back, go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from rewind.controller import Controller, as_tree
from rewind.tui.dialogs.dialog import Ask, Confirm, Dialog, key_hint
from rewind.tui.flows import flows, futures
from rewind.tui.frame import Frame
from rewind.words import one_line, plural, short_age

if TYPE_CHECKING:
    from rewind.checkpoint.conversations.session_tree import SessionInfo
    from rewind.checkpoint.futures.known.lane import Lane

_KEYS = "⏎ go on  n rename  p promote  x delete  u bring back  Esc close"
_LANE_KEYS = "⏎ go on  ␣ mark  c compare  a adopt  x remove  u bring back"


class ForksScreen(Dialog[bool]):
    """Dismissed with whether something changed."""

    DEFAULT_CSS = """
    ForksScreen > .box { width: 100; height: 80%; }
    ForksScreen OptionList { height: 1fr; }
    """
    BINDINGS = [("escape,q,f", "leave"), ("n", "rename"), ("p", "promote"), ("x,delete,d", "delete"),
                ("u", "undelete"), Binding("space", "mark", priority=True), ("c", "compare"), ("a", "adopt"),
                ("j", "move(1)"), ("k", "move(-1)")]
    app: Frame

    def __init__(self, at: str = "") -> None:
        """`at` is the session to stand on first."""
        super().__init__("Sessions and forks")
        self.at = at
        self.lanes: list[Lane] = []
        self.infos: list[SessionInfo] = []
        self.marked: list[str] = []  # forks to compare
        self.trashed: list[str] = []
        self.removed: list[Lane] = []
        self.changed = False

    def compose(self) -> ComposeResult:
        with self.box():
            yield OptionList()
            yield Static(id="trash")
            yield key_hint(_KEYS, "keys")

    def on_mount(self) -> None:
        self.load(self.at)

    @work(exclusive=True)
    async def load(self, keep: str = "") -> None:
        await self._load(keep)

    async def _load(self, keep: str = "") -> None:
        found = await flows.run_work(self.app, "Looking…", lambda c, p: (
            c.lanes(), as_tree(c.sessions()), [str(b["sessionId"]) for b in c.deleted_forks()],
            c.removed_lanes()))
        if found is None:
            self.dismiss(self.changed)
            return
        self.lanes, tree, self.trashed, self.removed = found
        self.infos = [info for _, info in tree]
        self.marked = [id for id in self.marked if id in {lane.session_id for lane in self.lanes}]
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([*(Option(self._lane_line(lane), id=lane.session_id) for lane in self.lanes),
                             *(Option(_line(depth, info), id=info.session_id) for depth, info in tree)])
        ids = [*(lane.session_id for lane in self.lanes), *(info.session_id for info in self.infos)]
        options.highlighted = ids.index(keep) if keep in ids else (0 if ids else None)
        options.focus()
        empty = "" if ids else "There are no conversations in this project yet."
        gone = {*self.trashed, *(lane.session_id for lane in self.removed)}
        trash = f"{plural(len(gone), 'fork')} in the trash" if gone else ""
        self.query_one("#trash", Static).update(Text(empty or trash, "yellow"))

    def _lane_line(self, lane: Lane) -> Text:
        return futures.line(lane, lane.session_id in self.marked)

    def on_option_list_option_highlighted(self) -> None:
        self.query_one("#keys", Static).update(Text(_LANE_KEYS if self._lane() else _KEYS, "dim"))

    def _lane(self) -> Lane | None:
        at = self.query_one(OptionList).highlighted
        return self.lanes[at] if at is not None and at < len(self.lanes) else None

    def _chosen(self) -> SessionInfo | None:
        at = self.query_one(OptionList).highlighted
        at = None if at is None else at - len(self.lanes)
        return self.infos[at] if at is not None and 0 <= at < len(self.infos) else None

    def on_option_list_option_selected(self) -> None:
        self.go_on()

    @work(exclusive=True)
    async def go_on(self) -> None:
        info, lane = self._chosen(), self._lane()
        if info:
            await flows.continue_with(self.app, info.name, lambda c, p: c.resume_command(info))
        elif lane:
            await flows.continue_with(self.app, lane.name, lambda c, p: c.lane_resume(c.lane(lane.name)))

    # forks with a directory

    def action_mark(self) -> None:
        lane = self._lane()
        if lane is None:
            return
        if lane.session_id in self.marked:
            self.marked.remove(lane.session_id)
        elif len(self.marked) < futures.MOST:
            self.marked.append(lane.session_id)
        else:
            self.notify(f"At most {futures.MOST} forks fit side by side.")
        self.query_one(OptionList).replace_option_prompt(lane.session_id, self._lane_line(lane))

    @work(exclusive=True)
    async def action_compare(self) -> None:
        chosen = [lane for lane in self.lanes if lane.session_id in self.marked] or self.lanes
        if not 2 <= len(chosen) <= futures.MOST:
            self.notify("Mark two or three forks with Space, then press c." if len(self.lanes) > 1
                        else "There is nothing to compare: `rewind fork` makes another one.")
        elif await futures.compare(self.app, chosen):
            await self._done(chosen[0].session_id)

    @work(exclusive=True)
    async def action_adopt(self) -> None:
        lane = self._lane()
        if lane and await futures.adopt(self.app, lane):
            await self._done(lane.session_id)

    @work(exclusive=True)
    async def action_rename(self) -> None:
        info = self._chosen()
        if info is None:
            return
        name = await self.app.push_screen_wait(Ask("Rename", "A name for this branch", info.name))
        if name and await flows.run_work(self.app, "Renaming…",
                                         lambda c, p: c.rename_fork(info.session_id, name)):
            await self._done(info.session_id)

    @work(exclusive=True)
    async def action_promote(self) -> None:
        info = self._chosen()
        if info and await flows.run_work(self.app, "Promoting…",
                                         lambda c, p: c.promote_fork(info.session_id)):
            self.notify("It is the one to go on with; its parent is folded away.")
            await self._done(info.session_id)

    @work(exclusive=True)
    async def action_delete(self) -> None:
        info, lane = self._chosen(), self._lane()
        if lane and await futures.remove(self.app, lane):
            await self._done()
        if info is None:
            return
        facts = f"{info.session_id}, {plural(len(info.turns), 'turn')}"
        body = [Text(one_line(info.name), "bold"), Text(facts, "dim"),
                Text("It goes to the trash; u brings it back.")]
        if await self.app.push_screen_wait(Confirm("Delete this fork?", body, "Delete", dangerous=True)) \
                and await flows.run_work(self.app, "Deleting…",
                                         lambda c, p: c.delete_forks([info.session_id])):
            await self._done()

    @work(exclusive=True)
    async def action_undelete(self) -> None:
        """The one that was deleted last."""
        lanes = {lane.session_id: lane for lane in self.removed}
        last = self.trashed[-1] if self.trashed else next(reversed(lanes), "")
        if not last:
            return
        if last in lanes:
            found = await flows.run_work(self.app, "Bringing it back…",
                                         lambda c, p: _bring_back(c, lanes[last]))
        else:
            found = await flows.run_work(self.app, "Bringing it back…", lambda c, p: c.undelete_fork(last))
        if found:
            await self._done(found)

    async def _done(self, keep: str = "") -> None:
        self.changed = True
        await self._load(keep)

    def action_leave(self) -> None:
        self.dismiss(self.changed)


def _bring_back(controller: Controller, lane: Lane) -> str:
    controller.bring_back_lane(lane)
    return lane.session_id


def _line(depth: int, info: SessionInfo) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(f"{'  ' * (depth - 1)}╰─" if depth else "", "dim").append("▌", "magenta" if depth else "cyan")
    text.append(one_line(info.name) or "(no title)", "dim" if info.archived else "bold")
    text.append(f"  {plural(len(info.turns), 'turn')} · {short_age(info.file.modified)}", "dim")
    if info.parent and info.rewind_from_turn is not None and " · from turn " not in info.name:
        text.append(f" · from turn {info.rewind_from_turn}", "dim")
    known = info.known_fork or {}
    marks = [("● open", "green", info.running), ("★ promoted", "yellow", bool(known.get("promoted"))),
             ("folded away", "dim", info.archived)]
    for mark, style, there in marks:
        text.append(f" · {mark}" if there else "", style)
    return text
