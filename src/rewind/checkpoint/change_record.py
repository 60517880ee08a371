"""What a person may change: the description of a checkpoint, its pin, and whether it is kept at all.

A record is rewritten as a whole, atomically and under the lock. Its tree and its place in the history never
change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.checkpoint.project.locked import locked
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.upkeep.retention import needed_because
from rewind.errors import CheckpointNeeded, NoCheckpointOfTurn, RewindError, TurnNotFound

if TYPE_CHECKING:
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Fields
    from rewind.checkpoint.upkeep.collection import Collected
    from rewind.snapshot.scan.build import Progress
    from rewind.transcript.find import SessionFile

LONGEST = 200


def pin(state: State, name: str, pinned: bool) -> Record:
    """A pinned checkpoint is never collected, not even by `gc --keep`."""
    return changed(state, name, "pin", {"pinned": pinned})


def describe(state: State, name: str, description: str) -> Record:
    text = " ".join(description.split())
    if len(text) > LONGEST:
        raise RewindError(f"A description can have at most {LONGEST} characters.", hint="Use a shorter one.")
    return changed(state, name, "describe", {"description": text, "described": True})


def changed(state: State, name: str, what: str, changes: Fields) -> Record:
    with locked(state, what):
        found = state.files.read(name)
        record = Record({**found.data, **changes})
        if record.data != found.data:
            state.timeline.write(record)
        return record


def mark_turn(state: State, session: SessionFile, turn: int, name: str) -> Record:
    """Give a turn a name: its checkpoint gets this description and is kept from then on."""
    from rewind.checkpoint.map.turn_views import read_page
    from rewind.checkpoint.rewind.conversation.forks import checked_name
    from rewind.checkpoint.save.save import save

    name = checked_name(name)
    page = read_page(state, session, turn, 1)
    if turn < 1 or not page.turns:
        raise TurnNotFound(turn=turn, total=page.total)
    if turn == page.total:
        return save(state, name, session=session).record
    code = page.turns[0].code
    if code is None or not code.exact:
        raise NoCheckpointOfTurn(turn=turn)
    kind = "manual" if code.record.kind == "auto" else code.record.kind  # never collected
    return changed(state, code.record.name, "mark", {"description": name, "kind": kind})


def check_deletable(state: State, names: list[str], force: bool) -> None:
    """Refuse before anything is deleted. `force` deletes checkpoints that are needed to undo operations, but
    never the one that the project stands on."""
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
