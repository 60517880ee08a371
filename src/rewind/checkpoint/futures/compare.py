"""Compares several futures: which files each one changed, and how much."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.checkpoint.futures.known.lane import Lane, OpenPlace, check_whole, read_progress
from rewind.checkpoint.project.state import State
from rewind.checkpoint.save.save import save

if TYPE_CHECKING:
    from rewind.checkpoint.changes.turn_changes import ChangedFile


def bring_up_to_date(state: State, lane: Lane, why: str) -> None:
    """Make a checkpoint of its unsaved changes."""
    check_whole(lane)
    with OpenPlace(state, lane) as there:
        save(there, f"Before `rewind forks {why}`", kind="auto", if_changed=True)


def compared(state: State, chosen: list[Lane]) -> dict[str, list[ChangedFile | None]]:
    """Path -> what each future did to it; None if nothing."""
    rows: dict[str, list[ChangedFile | None]] = {}
    for at, lane in enumerate(chosen):
        bring_up_to_date(state, lane, "compare")
        read_progress(state, lane)
        for file in (lane.changes or {}).get("files") or ():
            rows.setdefault(str(file["path"]), [None] * len(chosen))[at] = file
    return dict(sorted(rows.items()))
