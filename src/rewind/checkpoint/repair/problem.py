"""One thing that `validate` found wrong: a sentence for people, and what it is about for programs."""

from __future__ import annotations

CONFIGURATION, INTERRUPTED, MONITOR = "configuration", "interrupted", "monitor"
STORE, CHECKPOINT = "store", "checkpoint"


class Problem:
    __slots__ = ("checkpoint", "kind", "text")

    def __init__(self, kind: str, text: str, checkpoint: str = "") -> None:
        self.kind = kind
        self.text = text
        self.checkpoint = checkpoint  # the one that it hurts

    @property
    def is_damage(self) -> bool:
        """Something that was stored is not there any more, or not as it was."""
        return self.kind in (STORE, CHECKPOINT)
