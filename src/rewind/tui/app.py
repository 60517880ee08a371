"""The application: its first screen, how things look, and the key that ends it everywhere."""

from __future__ import annotations

from textual.binding import Binding

from rewind.tui.dialogs.dialog import BOX
from rewind.tui.frame import Frame
from rewind.tui.host import Host
from rewind.tui.screens.timeline_screen import TimelineScreen


class RewindApp(Frame):
    TITLE = "Rewind"
    ENABLE_COMMAND_PALETTE = False
    CSS = BOX + """
    #top { height: 1; background: $panel; }
    #warning { height: auto; background: $warning 30%; padding: 0 1; }
    #main { height: 1fr; }
    #left { width: 45%; min-width: 34; max-width: 96; border-right: vkey $panel; }
    #right { width: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
    #right:focus { background: $surface; }
    #filter { height: 1; background: $boost; }
    Footer { background: $panel; }
    """
    BINDINGS = [Binding("ctrl+c,ctrl+q", "leave", priority=True)]

    def on_mount(self) -> None:
        self.set_colours()
        self.push_screen(TimelineScreen())


def run(host: Host) -> tuple[str, bool]:
    """The command that continues the conversation, or an empty text; and whether to run it now."""
    app = RewindApp(host)
    command = app.run()
    if app.crash:
        raise app.crash
    return command or "", app.resume
