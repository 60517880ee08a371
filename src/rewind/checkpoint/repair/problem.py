"""One thing that `validate` found wrong: a sentence for people, and what it is about for programs."""

from __future__ import annotations

from typing import NamedTuple

CONFIGURATION, INTERRUPTED, MONITOR = "configuration", "interrupted", "monitor"
STORE, CHECKPOINT = "store", "checkpoint"


class Problem(NamedTuple):
    kind: str
    text: str
    checkpoint: str = ""  # the one that it hurts

    @property
    def is_damage(self) -> bool:
        """Something that was stored is not there any more, or not as it was."""
        return self.kind in (STORE, CHECKPOINT)
