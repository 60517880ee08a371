"""What shall come back: code and chat, the code, or the chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from rewind.controller import BOTH, CODE, CONVERSATION, PROMPT
from rewind.tui.dialogs.choose import Choose
from rewind.tui.parts.words import one_line
from rewind.words import shortened

if TYPE_CHECKING:
    from rewind.checkpoint.map.by_session import Item

_CHOICES = (
    (BOTH, "Jump: code + chat", "files as they were then, and the chat as a new fork"),
    (CODE, "Code only", "files as they were then; the chat goes on as it is"),
    (CONVERSATION, "Chat fork", "the chat up to then as a new session; files stay as they are"),
)


class ChooseIntent(Choose):
    def __init__(self, item: Item) -> None:
        why_not = "this checkpoint holds no conversation"
        disabled = {} if item.has_conversation else {BOTH: why_not, CONVERSATION: why_not}
        super().__init__("Go back", _about(item), _CHOICES, disabled)


def _about(item: Item) -> list[Text]:
    text = shortened(one_line(item.text), 120)
    if item.kind == PROMPT:
        turn = f"prompt {item.turn}" if item.turn else "this prompt"
        return [Text.assemble(("To before ", "dim"), (turn, "cyan")), Text(text, "bold")]
    name = item.record.name if item.record else ""
    return [Text.assemble(("To checkpoint ", "dim"), (name, "yellow")), Text(text, "bold")]
