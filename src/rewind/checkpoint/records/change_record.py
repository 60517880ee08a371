"""What a person may change of a checkpoint: its description, whether it is pinned, whether it stays at all.

A record is rewritten as a whole, atomically and under the lock; its tree and its place in the history never
change.
"""

from __future__ import annotations

from rewind.checkpoint.records.record import Record
from rewind.checkpoint.upkeep.retention import needed_because
from rewind.errors import CheckpointNeeded, RewindError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.upkeep.collection import Collected
    from rewind.snapshot.scan.build import Progress

LONGEST = 200


def pin(state: State, name: str, pinned: bool) -> Record:
    """A pinned checkpoint is never collected, not even by `gc --keep`."""
    return changed(state, name, "pin", {"pinned": pinned})


def describe(state: State, name: str, description: str) -> Record:
    text = " ".join(description.split())
    if len(text) > LONGEST:
        raise RewindError(f"A description can have at most {LONGEST} characters.", hint="Use a shorter one.")
    return changed(state, name, "describe", {"description": text, "described": True})


def changed(state: State, name: str, what: str, changes: dict[str, Any]) -> Record:
    with state.locked(what):
        found = state.files.read(name)
        record = Record({**found.data, **changes})
        if record.data != found.data:
            state.files.write(record)
            state.timeline.add(record)
        return record


def check_deletable(state: State, names: list[str], force: bool) -> None:
    """Refuses before anything is deleted. `force` gives up ways back, but not where the project stands."""
    reasons = needed_because(state)
    for name in names:
        reason, always = reasons.get(name, ("", False))
        if reason and (always or not force):
            hint = f"Unpin it first: rewind unpin {name}" if reason == "it is pinned" else (
                "Go to another checkpoint first." if always else "Repeat with --force to delete it anyway.")
            raise CheckpointNeeded(name=name, reason=reason, hint=hint)


def delete(state: State, names: list[str], *, force: bool, wait: float,
           progress: Progress | None = None) -> Collected:
    from rewind.checkpoint.upkeep.collection import collect_these

    check_deletable(state, names, force)
    return collect_these(state, names, force, wait, progress)
