"""`pins.json`: files that an agent edits by name are captured from then on, whatever the rules say."""

from __future__ import annotations

from rewind import jsonfile
from rewind.checkpoint.project.state import State
from rewind.checkpoint.records.seal import sealed
from rewind.errors import RewindError
from rewind.snapshot.trees.tree import DIR, UNCOVERED, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.paths import Project

_MOST = 10_000


def not_captured(project: Project, paths: list[str]) -> list[str]:
    """Those that the newest checkpoint does not hold: left out by a rule, or made since."""
    state = State(project, forgiving=True)
    try:
        newest = state.timeline.newest()
        if newest is None or newest.format != "objects":
            return paths
        return [path for path in paths
                if not _holds(state, newest.tree, path.encode("utf-8", "surrogateescape"))]
    except RewindError:
        return paths
    finally:
        state.close()


def _holds(state: State, root: bytes, path: bytes) -> bool:
    tree = Tree.decode(state.objects.get(root))
    *folders, name = path.split(b"/")
    for folder in folders:
        entry = tree.entries.get(folder)
        if entry is None or entry.kind != DIR:
            return False
        tree = Tree.decode(state.objects.get(entry.ref))
    entry = tree.entries.get(name)
    return entry is not None and entry.kind != UNCOVERED


def pin(state: State, paths: list[str]) -> None:
    """A file that is merely new does no harm here. The caller holds the lock."""
    pins = [p.decode("utf-8", "surrogateescape") for p in state.pins()]
    fresh = [path for path in paths if path not in pins]
    if fresh:
        data = {"format": 1, "pins": (pins + fresh)[-_MOST:]}
        jsonfile.write(state.project.path("pins.json"), sealed(data))
