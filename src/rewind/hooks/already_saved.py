"""What the checkpoints hold already: a conversation, a file of the project, a file outside the project."""

from __future__ import annotations

import os

from rewind.checkpoint.project.state import State
from rewind.errors import RewindError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from rewind.paths import Project

    T = TypeVar("T")


def has_checkpoint(project: Project, session: str) -> bool:
    return _ask(project, lambda state: any(record.session == session for record in state.timeline.all()))


def not_captured(project: Project, paths: list[str]) -> list[str]:
    """The paths that the newest checkpoint does not hold, because of a rule or because they are new."""
    def missing(state: State) -> list[str]:
        newest = state.timeline.newest()
        if newest is None or newest.format != "objects":
            return paths
        return [path for path in paths
                if not _holds(state, newest.tree, path.encode("utf-8", "surrogateescape"))]

    try:
        return _ask(project, missing)
    except RewindError:
        return paths


def _holds(state: State, root: bytes, path: bytes) -> bool:
    from rewind.snapshot.trees.tree import DIR, UNCOVERED, Tree

    tree = Tree.decode(state.objects.get(root))
    *folders, name = path.split(b"/")
    for folder in folders:
        entry = tree.entries.get(folder)
        if entry is None or entry.kind != DIR:
            return False
        tree = Tree.decode(state.objects.get(entry.ref))
    entry = tree.entries.get(name)
    return entry is not None and entry.kind != UNCOVERED


def outside_files_to_keep(project: Project, paths: list[str], *, anyway: bool) -> list[str]:
    """Of these real paths outside the project, those to keep. `anyway`: a checkpoint is made in any case."""
    from rewind.checkpoint.records.outside import kept_outside, may_be_kept

    def not_kept(state: State) -> list[str]:
        newest = state.timeline.newest()
        # What the newest checkpoint kept is what the file held then: every change of it by an agent has one.
        held = {one.path for one in kept_outside(newest)} if newest else set()
        return [path for path in found if path.encode("utf-8", "surrogateescape") not in held]

    found = [path for path in dict.fromkeys(paths) if may_be_kept(project, path) and _is_own(path)]
    try:
        return found if anyway or not found else _ask(project, not_kept)
    except RewindError:
        return found


def _is_own(path: str) -> bool:
    """Whether the file belongs to this user, or will, because it does not exist yet."""
    try:
        return os.lstat(path).st_uid == os.geteuid()
    except OSError:
        return True


def _ask(project: Project, question: Callable[[State], T]) -> T:
    state = State(project, forgiving=True)
    try:
        return question(state)
    finally:
        state.close()
