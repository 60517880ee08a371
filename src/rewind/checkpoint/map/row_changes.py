"""What changed with each of many checkpoints, as far as that is known or found out in time."""

from __future__ import annotations

import time

from rewind.checkpoint.map.turn_changes import changes_between
from rewind.checkpoint.rewind.log.lineage import lineage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record


def row_changes(state: State, records: list[Record], patience: float) -> dict[str, dict[str, Any]]:
    """By name. Found out once, it is remembered; those that are not known after `patience` seconds are left
    out, and told the next time."""
    parents = lineage(state)
    until = time.monotonic() + patience
    found = {}
    for record in records:
        parent = parents.parent(record.name)
        if parent is None:
            continue
        if time.monotonic() > until:
            break
        changes = changes_between(state, parent, record)
        if changes is not None:
            found[record.name] = changes
    return found
