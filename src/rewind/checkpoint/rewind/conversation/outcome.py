"""What became of the effects of an operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rewind.checkpoint.log.line import Effect


class Conversations:
    """What was done: for the log, for the person, and whether something could not be had."""

    def __init__(self) -> None:
        self.effects: list[Effect] = []
        self.notes: list[str] = []
        self.lacking = False
