"""After a step: what happened, and the command that continues the conversation, ready to be copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Button, Static

from rewind.tui.dialogs.dialog import Dialog, body
from rewind.tui.parts.screen_words import path
from rewind.words import explain, safe_lines

if TYPE_CHECKING:
    from rewind.checkpoint.rewind.outcome import Outcome


class OutcomeDialog(Dialog[bool]):
    """True if the person wants to continue at once."""

    DEFAULT_CSS = """
    OutcomeDialog .command { margin-top: 1; padding: 0 1; background: $boost; color: $text-accent; }
    """
    BINDINGS = [("escape,q", "leave"), ("c,y", "copy"), ("r", "resume")]

    def __init__(self, title: str, body: list[Text], command: str = "", note: str = "") -> None:
        """`note` tells the agent what happened; the person pastes it into the conversation."""
        super().__init__(title)
        self.body = body
        self.command = command
        self.note = note

    def compose(self) -> ComposeResult:
        with self.box():
            yield body(Static(Text("\n").join(self.body)))
            if self.command:
                yield Static(Text("\nContinue with:", "dim"))
                yield Static(Text(self.command, overflow="fold"), classes="command")
            if self.note:
                yield Static(Text("\nThe agent does not know about this. To tell it, paste:", "dim"))
                yield Static(Text(safe_lines(self.note), overflow="fold"), classes="command")
            with Horizontal(classes="buttons"):
                if self.command:
                    yield Button(Text("Resume (r)"), id="resume", compact=True, variant="primary")
                if self.command or self.note:
                    yield Button(Text("Copy (c)"), id="copy", compact=True)
                yield Button(Text("Close"), id="close", compact=True)

    def on_mount(self) -> None:
        self.query("#close").focus()  # none if the person leaves at this moment

    def on_button_pressed(self, event: Button.Pressed) -> None:
        actions = {"copy": self.action_copy, "resume": self.action_resume}
        actions.get(event.button.id or "", self.action_leave)()

    def action_resume(self) -> None:
        if self.command:
            self.dismiss(True)

    def action_copy(self) -> None:
        if self.command or self.note:
            self.app.copy_to_clipboard(self.command or self.note)
            self.notify(f"The {'command' if self.command else 'note'} is on the clipboard.")


def about_files(done: Outcome) -> list[Text]:
    """What became of the code."""
    if done.record is None:
        return [Text("The code stays as it is.")]
    plan, name = done.plan, done.record.name
    if not plan.changes and done.complete:
        return [Text.assemble("The code was already as in ", (name, "yellow"))]
    written, deleted = len(plan.written), len(plan.deleted)
    lines = [Text.assemble("The code is as in ", (name, "yellow"),
                           f"\n{written:,} written, {deleted:,} deleted"
                           + (f", {len(plan.kept):,} kept" if plan.kept else ""))]
    return lines + [Text.assemble(("not restored: ", "red"), f"{path(name)} ({explain(reason)})")
                    for name, reason in done.remaining]


def about_notes(notes: list[str]) -> list[Text]:
    return [Text(safe_lines(note), "yellow") for note in notes if note]
