"""The status of a project: its checkpoints, what changed since, their disk use, and where it stands."""

from __future__ import annotations

from rewind.checkpoint.futures.known.lane import lanes
from rewind.checkpoint.futures.shape import problem
from rewind.checkpoint.operation_log.lineage import here
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.record import Record
from rewind.checkpoint.records.source import Source
from rewind.checkpoint.records.torn import torn_paths
from rewind.checkpoint.rewind.operation_words import interrupted_text
from rewind.checkpoint.rewind.undo_and_redo import redo_target
from rewind.checkpoint.upkeep import retention
from rewind.checkpoint.upkeep.disk_use import disk_use, repository_bytes
from rewind.errors import RewindError
from rewind.snapshot.rules.rules import MB
from rewind.snapshot.scan.build import Snapshot
from rewind.snapshot.trees.change import Paths, differences
from rewind.snapshot.trees.listing import uncovered
from rewind.snapshot.trees.tree import TreeEntry


class Status:
    def __init__(self, state: State, snapshot: Snapshot) -> None:
        self.project = state.project
        self.format = str(state.settings.get("storage.format"))
        self.shown = state.timeline.shown()
        self.backups = sum(r.kind == "backup" and r.place == state.place for r in state.timeline.all())
        self.damaged = sorted(state.timeline.damaged)
        self.newest = self.shown[0] if self.shown else None
        self.interrupted = state.interrupted()
        self.interrupted_text = interrupted_text(self.interrupted) if self.interrupted else ""
        self.unfinished = _unfinished_forks(state)
        self.can_redo = redo_target(state, state.operations()) is not None
        self.here = here(state)
        self.changes = _changes(state, self.here, snapshot)
        self.disk = disk_use(state)
        self.for_remotes = repository_bytes(state)  # is part of `disk`
        self.cap = int(state.settings.get("storage.maxSizeMb") * MB)
        # Counting what protected checkpoints reach takes time, and matters only above the cap.
        over = self.disk > self.cap
        self.protected = retention.protected_bytes(state) if over else None
        self.torn = torn_paths(self.newest) if self.newest else []  # of its databases
        self.uncovered = sorted(uncovered(snapshot.root, snapshot.tree))

    @property
    def protected_over_cap(self) -> bool:
        return self.protected is not None and self.protected > self.cap


def _unfinished_forks(state: State) -> list[str]:
    try:
        return [text for text in map(problem, lanes(state)) if text]
    except RewindError:
        return []  # `branches.json` is damaged, which `validate` reports


def _changes(state: State, base: Record | None,
             snapshot: Snapshot) -> list[tuple[bytes, TreeEntry | None, TreeEntry | None]]:
    if base is None:
        return []
    with Source(state, base) as source:
        return list(differences(base.tree, source.tree, snapshot.root, snapshot.tree, Paths()))
