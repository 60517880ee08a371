"""Upkeep from beginning to end: what `rewind gc` does. A save starts this file by its path, with
`gc|pack ROOT HOME`, as a background process."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.upkeep.collection import Collected
    from rewind.snapshot.scan.build import Progress

_PATIENT = 120.0


def gc(state: State, keep: int | None, wait: float, progress: Progress | None = None) -> Collected:
    """Delete what is no longer kept, here and in the private repository, and pack the rest."""
    from rewind.checkpoint.remote.collect import collect_repository
    from rewind.checkpoint.upkeep.collection import collect
    from rewind.checkpoint.upkeep.pieces import pack

    collected = collect(state, keep, wait, progress)
    collected.freed += collect_repository(state)
    pack(state, wait)
    return collected


def do_chore(chore: str, root: str, home: str) -> int:
    os.nice(10)
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import iso_time
    from rewind.checkpoint.upkeep.pieces import pack
    from rewind.errors import RewindError
    from rewind.paths import open_project

    project = open_project(root, home)
    if project is None:
        return 1  # deleted since
    try:
        state = State(project)
        if chore == "gc":
            gc(state, None, _PATIENT)
        else:
            pack(state, _PATIENT)
    except (RewindError, OSError) as error:
        log = os.open(project.path("rewind.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with open(log, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{iso_time()} {chore}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path.insert(0, os.path.dirname(package))
    sys.exit(do_chore(*sys.argv[1:4]))
