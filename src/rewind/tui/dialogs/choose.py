"""Choose one of a few things, each with a number, a title and what it means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from rewind.controller import BOTH, CODE, CONVERSATION, PROMPT
from rewind.tui.dialogs.dialog import Dialog, body, key_hint
from rewind.words import one_line, shortened

if TYPE_CHECKING:
    from rewind.checkpoint.map.by_session import Item

Choice = tuple[str, str, str]  # what is returned, the title, what it means
_INTENTS = (
    (BOTH, "Jump: code + conversation", "restore the files; continue the conversation in a fork"),
    (CODE, "Code only", "restore the files; the conversation continues as it is"),
    (CONVERSATION, "Conversation only", "continue from there in a fork; the files stay as they are"),
)


class Choose(Dialog["str | None"]):
    """None if the person cancelled."""

    DEFAULT_CSS = "Choose OptionList { height: auto; margin: 1 0; }"
    BINDINGS = [("escape,q", "leave"), ("1", "take(0)"), ("2", "take(1)"), ("3", "take(2)"), ("j", "move(1)"),
                ("k", "move(-1)"), Binding("pagedown", "scroll(8)", priority=True),
                Binding("pageup", "scroll(-8)", priority=True)]

    def __init__(self, title: str, body: list[Text], choices: Sequence[Choice],
                 disabled: dict[str, str] | None = None) -> None:
        """`disabled` says why some choices are not possible."""
        super().__init__(title)
        self.body = body
        self.choices = choices
        self.disabled_choices = disabled or {}

    def compose(self) -> ComposeResult:
        with self.box():
            yield body(Static(Text("\n").join(self.body)))
            yield OptionList(*[self._option(number) for number in range(len(self.choices))])
            keys = " ".join(str(number + 1) for number in range(len(self.choices)))
            yield key_hint(f"{keys} or Enter chooses, Esc cancels")

    def _option(self, number: int) -> Option:
        value, title, meaning = self.choices[number]
        why_not = self.disabled_choices.get(value, "")
        text = Text.assemble((f" {number + 1} ", "cyan"), (title, "bold"), "\n   ",
                             (why_not or meaning, "dim"))
        return Option(text, id=value, disabled=bool(why_not))

    def on_mount(self) -> None:
        able = [at for at, choice in enumerate(self.choices) if choice[0] not in self.disabled_choices]
        for options in self.query(OptionList):  # none if the person leaves at this moment
            options.highlighted = able[0] if able else None
            options.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def action_take(self, number: int) -> None:
        if number < len(self.choices) and self.choices[number][0] not in self.disabled_choices:
            self.dismiss(self.choices[number][0])


class ChooseIntent(Choose):
    """What to bring back: code and conversation, or one of them."""

    def __init__(self, item: Item) -> None:
        why_not = "this checkpoint holds no conversation"
        disabled = {} if item.has_conversation else {BOTH: why_not, CONVERSATION: why_not}
        super().__init__("Go back", _about(item), _INTENTS, disabled)


def _about(item: Item) -> list[Text]:
    text = shortened(one_line(item.text), 120)
    if item.kind == PROMPT:
        turn = f"prompt {item.turn}" if item.turn else "this prompt"
        return [Text.assemble(("To before ", "dim"), (turn, "cyan")), Text(text, "bold")]
    name = item.record.name if item.record else ""
    return [Text.assemble(("To checkpoint ", "dim"), (name, "yellow")), Text(text, "bold")]
