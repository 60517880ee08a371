"""What screens and dialogs may use of the application."""

from __future__ import annotations

from textual.theme import Theme
from textual.widgets import Footer

from rewind.tui.dialogs.working import Failure, Working
from rewind.tui.host import Host
from rewind.tui.key_queue import KeysInOrder

_DARK = Theme("rewind-dark", primary="#4f8fd0", secondary="#8a6fc0", accent="#5fb3b3", success="#6aaf6a",
              warning="#d0a040", error="#d06060", foreground="#d8dce4", background="#12151b",
              surface="#1a1e26", panel="#232935", dark=True)
_LIGHT = Theme("rewind-light", primary="#2566a8", secondary="#6a4fa0", accent="#18767a", success="#2e7d32",
               warning="#8a6100", error="#b3261e", foreground="#1c2128", background="#ffffff",
               surface="#f5f6f8", panel="#e6e9ee", dark=False)


class Frame(KeysInOrder):
    """The application. It ends with the command that continues the last fork, if one was made."""

    def __init__(self, host: Host) -> None:
        super().__init__()
        self.host = host
        self.go_on = ""
        self.resume = False  # the command is to be run now
        self.crash: Exception | None = None
        self.show_turn: tuple[str, int] | None = None  # a session and a turn that the list should move to

    def set_colours(self) -> None:
        self.register_theme(_DARK)
        self.register_theme(_LIGHT)
        self.turn_light(self.host.light)

    def turn_light(self, light: bool) -> None:
        self.theme = (_LIGHT if light else _DARK).name

    def choose_light(self, light: bool) -> None:
        """Use the person's choice, now and in later sessions."""
        self.turn_light(light)
        try:
            if self.host.remember:
                self.host.remember(light)
        except Exception as error:
            self.notify(f"This cannot be remembered: {Failure(error).message}", severity="warning")

    @property
    def is_working(self) -> bool:
        return isinstance(self.screen, Working) and not self.screen.may_be_stopped

    def action_leave(self) -> None:
        if isinstance(self.screen, Working) and self.screen.may_be_stopped:
            self.screen.action_stop()
        elif self.is_working:
            self.notify("One moment: this must be finished first.")
        else:
            self.exit(self.go_on)

    def leave_for(self, command: str) -> None:
        """End, so that the command is run."""
        self.go_on, self.resume = command, True
        self.exit(command)

    def copy_to_clipboard(self, text: str) -> None:
        """Through the terminal, which works over ssh, and with a tool of this machine if it has one."""
        super().copy_to_clipboard(text)
        if self.host.copy:
            self.host.copy(text)

    def _handle_exception(self, error: Exception) -> None:
        """The command that started the UI reports a bug in a sentence, without a traceback."""
        if self.is_headless:
            super()._handle_exception(error)
            return
        self.crash = self.crash or error
        self.exit(return_code=1)


def footer() -> Footer:
    """The keys of a screen, in its last line."""
    made = Footer(show_command_palette=False)
    made.compact = True
    return made
