"""What a selector leads to."""

from __future__ import annotations

from rewind.checkpoint.records.record import Record


class Selected:
    """A checkpoint, and a note for the person about the choice."""

    def __init__(self, record: Record, note: str = "") -> None:
        self.record = record
        self.note = note
