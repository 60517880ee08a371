"""The box for questions and messages, and the simplest of them."""

from __future__ import annotations

from typing import TypeVar, Union

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, OptionList, Static

Shown = Union[str, Text]
Result = TypeVar("Result")

BOX = """
.dialog { align: center middle; }
.dialog > .box {
    width: 72; max-width: 95%; height: auto; max-height: 90%;
    border: round $primary; background: $surface; padding: 1 2;
    border-title-color: $text; border-title-style: bold;
}
.dialog .body { height: auto; scrollbar-size-vertical: 1; }
.dialog OptionList { background: $surface; padding: 0; }
.dialog OptionList, .dialog OptionList:focus { border: none; }
.dialog .buttons { height: 1; margin-top: 1; align-horizontal: right; }
.dialog Button { margin-left: 2; padding: 0 1; min-width: 8; height: 1; border: none; background: $panel;
    color: $foreground; text-style: none; }
.dialog Button:focus { background: $primary; color: $background; text-style: bold;
    background-tint: $primary 0%; }
.dialog Button.-error:focus { background: $error; }
"""


class Dialog(ModalScreen[Result]):
    """A box with a title, in the middle of the screen."""

    def __init__(self, title: str) -> None:
        super().__init__(classes="dialog")
        self.heading = title

    def box(self) -> Vertical:
        box = Vertical(classes="box")
        box.border_title = self.heading
        return box

    def on_resize(self) -> None:
        self.call_after_refresh(self._leave_room)

    def _leave_room(self) -> None:
        """Keep what can be pressed in view: only the text above it is cut, and scrolls."""
        for text in self.query(".box > .body"):
            box = self.query_one(".box")
            others = sum(part.outer_size.height + part.styles.margin.height
                         for part in box.children if part is not text)
            text.styles.max_height = max(1, self.size.height * 9 // 10 - box.gutter.height - others)

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_move(self, by: int) -> None:
        """Move the cursor of the list."""
        options = self.query_one(OptionList)
        options.action_cursor_down() if by > 0 else options.action_cursor_up()

    def action_scroll(self, by: int) -> None:
        self.query_one(".body").scroll_relative(y=by, animate=False)


def body(shown: Static) -> VerticalScroll:
    """Text that may be longer than the screen."""
    return VerticalScroll(shown, classes="body", can_focus=False)


def key_hint(text: str, id: str | None = None) -> Static:
    return Static(Text(text, "dim"), id=id)


class Confirm(Dialog[bool]):
    """A question with two answers. Enter takes the button that has the focus."""

    BINDINGS = [("y", "answer(True)"), ("n,escape,q", "answer(False)"), ("left,right", "other")]

    def __init__(self, title: str, body: Shown | list[Text], yes: str = "Yes", no: str = "Cancel",
                 *, dangerous: bool = False) -> None:
        super().__init__(title)
        self.body = Text("\n").join(body) if isinstance(body, list) else body
        self.labels = (yes, no)
        self.dangerous = dangerous

    def compose(self) -> ComposeResult:
        yes, no = self.labels
        with self.box():
            yield body(Static(self.body, markup=False))
            with Horizontal(classes="buttons"):
                if no:
                    yield Button(Text(f"{no} (n)"), id="no", compact=True)
                yield Button(Text(f"{yes} (y)" if no else yes), id="yes", compact=True,
                             variant="error" if self.dangerous else "primary")

    def on_mount(self) -> None:
        self.query("#yes" if not self.dangerous or not self.labels[1] else "#no").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)

    def action_other(self) -> None:
        self.focus_next()

    def on_key(self, event: object) -> None:
        key = getattr(event, "key", "")
        moves = {"down": 1, "j": 1, "up": -1, "k": -1, "pagedown": 8, "pageup": -8}
        if key in moves:
            self.action_scroll(moves[key])


class Notice(Confirm):
    """Something to read, with one button."""

    BINDINGS = [("enter,escape,q,space", "answer(True)")]

    def __init__(self, title: str, body: Shown | list[Text]) -> None:
        super().__init__(title, body, "OK", "")


class Ask(Dialog["str | None"]):
    """One line of text; None if the person cancelled."""

    BINDINGS = [("escape", "leave")]

    def __init__(self, title: str, question: str, text: str = "", *, may_be_empty: bool = False) -> None:
        super().__init__(title)
        self.question = question
        self.text = text
        self.may_be_empty = may_be_empty

    def compose(self) -> ComposeResult:
        with self.box():
            yield Static(self.question, markup=False)
            yield Input(self.text, id="answer")
            yield key_hint("Enter accepts, Esc cancels")

    def on_mount(self) -> None:
        self.query(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.value.strip() or self.may_be_empty:
            self.dismiss(event.value.strip())
