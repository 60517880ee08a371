"""What shall come back: code and chat, the code, or the chat."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from rewind.controller import BOTH, CODE, CONVERSATION, PROMPT
from rewind.tui.words import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.story import Item

_CHOICES = (
    (BOTH, "Jump: code + chat", "files as they were then, and the chat as a new fork"),
    (CODE, "Code only", "files as they were then; the chat goes on as it is"),
    (CONVERSATION, "Chat fork", "the chat up to then as a new session; files stay as they are"),
)


class ChooseIntent(ModalScreen["str | None"]):
    DEFAULT_CSS = """
    ChooseIntent OptionList { height: auto; background: $surface; padding: 0; margin: 1 0; }
    ChooseIntent OptionList, ChooseIntent OptionList:focus { border: none; }
    """
    BINDINGS = [Binding("escape,q", "leave", show=False), Binding("1", "take(0)", show=False),
                Binding("2", "take(1)", show=False), Binding("3", "take(2)", show=False),
                Binding("j", "move(1)", show=False), Binding("k", "move(-1)", show=False)]

    def __init__(self, item: Item) -> None:
        super().__init__(classes="dialog")
        self.item = item

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = "Go back"
            yield Static(self._about())
            yield OptionList(*[self._option(number) for number in range(len(_CHOICES))])
            yield Static(Text("1 2 3 or Enter chooses, Esc cancels", "dim"))

    def _about(self) -> Text:
        text = one_line(self.item.text)
        text = text if len(text) <= 120 else text[:119] + "…"
        if self.item.kind == PROMPT:
            return Text.assemble(("To before prompt ", "dim"), (f"{self.item.turn}", "cyan"), ("\n", ""),
                                 (text, "bold"))
        name = self.item.record.name if self.item.record else ""
        return Text.assemble(("To checkpoint ", "dim"), (name, "yellow"), "\n", (text, "bold"))

    def _option(self, number: int) -> Option:
        intent, title, meaning = _CHOICES[number]
        able = self._able(intent)
        text = Text.assemble((f" {number + 1} ", "cyan"), (title, "bold"), "\n   ",
                             (meaning if able else "this checkpoint holds no conversation", "dim"))
        return Option(text, id=intent, disabled=not able)

    def _able(self, intent: str) -> bool:
        return intent == CODE or self.item.has_chat

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        options.highlighted = 0 if self._able(BOTH) else 1
        options.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def action_take(self, number: int) -> None:
        if self._able(_CHOICES[number][0]):
            self.dismiss(_CHOICES[number][0])

    def action_move(self, by: int) -> None:
        options = self.query_one(OptionList)
        options.action_cursor_down() if by > 0 else options.action_cursor_up()

    def action_leave(self) -> None:
        self.dismiss(None)
