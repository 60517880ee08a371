"""A file, each line with the turn that wrote it, its age and the prompt; Enter opens the turn."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Optional

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen
from textual.widgets import Static

from rewind.controller import DIR, EDIT, PROMPT, UNCOVERED, Controller
from rewind.tui.dialogs.dialog import Notice
from rewind.tui.dialogs.file_dialog import ChooseFile
from rewind.tui.flows import flows
from rewind.tui.frame import Frame, footer
from rewind.tui.parts.details import span_of
from rewind.tui.parts.diff_view import DiffView
from rewind.tui.parts.screen_words import path
from rewind.words import plural, safe, safe_lines, short_age

if TYPE_CHECKING:
    from rewind.checkpoint.map.by_session import Item
    from rewind.checkpoint.turns.blame.blame import Blame, BlamedLine

Turn = Optional[tuple[str, int]]  # a session, and the number of the turn in it

_WORDS, _MORE_WORDS = 28, 48  # characters of a prompt; on a wide screen
_WIDE = 110
_STYLES = {"agent": "cyan", "you": "yellow", "git": "dim"}


async def blame_a_file(app: Frame, item: Item | None) -> bool:
    """Ask for the file; those that the item changed come first."""
    found = await flows.run_work(app, "Looking…", lambda c, p: _files(c, item))
    if found is None:
        return False
    if not found:
        await app.push_screen_wait(Notice("No files", [Text("There is no checkpoint with files yet."),
                                                       Text("Press s to save one.", "dim")]))
        return False
    chosen = await app.push_screen_wait(ChooseFile("Who wrote it: choose a file", found))
    if chosen is not None:
        app.show_turn = await app.push_screen_wait(BlameScreen(chosen))
    return False


def _files(controller: Controller, item: Item | None) -> list[bytes]:
    here = controller.here()
    every = [name for name, entry in controller.files(here.name)
             if entry.kind not in (DIR, UNCOVERED)] if here else []
    if item is None or item.kind not in (PROMPT, EDIT):
        return every
    span = span_of(controller, item)
    if span.old is None:
        return every
    with controller.diff(span.old, span.new) as difference:
        first = [name for name in (*difference.modified, *difference.added) if name in set(every)]
    return list(dict.fromkeys([*first, *every]))


class BlameScreen(Screen["Turn"]):
    """Dismissed with the turn to be opened, if any."""

    DEFAULT_CSS = """
    BlameScreen #title, BlameScreen #about { height: 1; background: $panel; padding: 0 1; }
    """
    BINDINGS = [Binding("enter", "open", "Open the turn", key_display="⏎"),
                Binding("question_mark", "help", "Help", key_display="?"),
                Binding("escape,q,b", "leave", "Close", key_display="esc")]
    app: Frame

    def __init__(self, name: bytes) -> None:
        super().__init__()
        self.file = name
        self.blame: Blame | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="title")
        yield DiffView(can_mark=False)
        yield Static(id="about")
        yield footer()

    def on_mount(self) -> None:
        self.query(DiffView).focus()
        self.load()

    @work(exclusive=True)
    async def load(self) -> None:
        found: Blame | None = await flows.run_work(self.app, "Following the lines back…",
                                                   lambda c, p: c.blame(self.file))
        if found is None:
            self.dismiss(None)
            return
        self.blame = found
        count = plural(len(found.lines), "line")
        passed = f", {plural(len(found.damaged), 'damaged checkpoint')} passed over" if found.damaged else ""
        self.query_one("#title", Static).update(Text.assemble(
            ("Blame  ", "bold"), (f"{path(self.file)}  {count}{passed}", "dim")))
        if found.lines:
            # Lines of one turn belong together, as those of a hunk do.
            parts = [(b"", f"{line.who} {line.author.session} {line.author.turn}"
                           f" {line.commit.id if line.commit else ''}") for line in found.lines]
            room = _MORE_WORDS if self.size.width >= _WIDE else _WORDS
            self.query_one(DiffView).show(drawn_blame(found, time.time(), room), list(parts))
        else:
            self.query_one(DiffView).show([Text("The file is empty.", "dim")], [None])

    @on(DiffView.Moved)
    def moved(self) -> None:
        """Show as much of the prompt as there is room for."""
        line = self._line()
        self.query_one("#about", Static).update(Text(safe(line.words) if line else "", no_wrap=True,
                                                     overflow="ellipsis"))

    def _line(self) -> BlamedLine | None:
        at = self.query_one(DiffView).cursor
        return self.blame.lines[at] if self.blame and at < len(self.blame.lines) else None

    def action_open(self) -> None:
        line = self._line()
        if line and line.author.session and line.author.turn:
            self.dismiss((line.author.session, line.author.turn))
        elif line:
            self.notify(_no_turn(line))

    def action_help(self) -> None:
        self.app.push_screen(Notice("Blame", [
            Text("Each line has the turn that wrote it, its age, and the first words of the prompt."),
            Text("you: edited between two turns.  git: older than the first checkpoint."),
            Text("*: in no checkpoint yet."), Text(""),
            Text("→ ← go to the next change, Enter opens the turn in the list.", "dim")]))

    def action_leave(self) -> None:
        self.dismiss(None)


def drawn_blame(found: Blame, now: float, room: int) -> list[Text]:
    several = len({line.author.session for line in found.lines if line.author.session}) > 1
    heads = [(line.name(several), short_age(line.time, now) if line.time is not None else "now",
              safe(line.words)) for line in found.lines]
    who = max(len(head[0]) for head in heads)
    digits = len(str(found.lines[-1].number))
    lines = []
    for line, head in zip(found.lines, heads):
        text = Text.assemble((f"{head[0]:<{who}}", _STYLES[line.who]), (f" {head[1]:>4} ", "dim"))
        words = Text(head[2])
        words.truncate(room, overflow="ellipsis", pad=True)
        shown = safe_lines(line.text.rstrip(b"\r\n").decode("utf-8", "backslashreplace"))[:2000]
        lines.append(text.append(words).append(f" {line.number:>{digits}} ", "dim").append(shown))
    return lines


def _no_turn(line: BlamedLine) -> str:
    if line.commit:
        return f"Older than the first checkpoint: git show {line.commit.id[:7]}"
    return ("You wrote this line, not a turn." if line.who == "you"
            else "The conversation of this turn is gone.")
