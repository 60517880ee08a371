"""The floor: the least that a hook which looks at every file costs, in any language.

A shell starts an interpreter that does nothing. Then two programs in C look at half of the files each, at the
same time. For a first checkpoint they also read and hash the files."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from pathlib import Path

from bench.measure import Action
from bench.trees import Tree
from bench.workplace import Workplace

LOOK = "%i %m %s %T@ %p\\0"


def idle_hook(place: Workplace) -> None:
    """Start an interpreter in the way in which the hook is started: by a shell that waits for it."""
    place.spawner.run(["/bin/sh", "-c", '"$0" -I -S -c pass; exit 0', place.options.python])


def floors(place: Workplace, tree: Tree, root: Path) -> dict[str, Action]:
    """A contender named `floor`, or none without GNU find."""
    return _at_once(place, tree, root, ["-printf", LOOK], hooks=1)


def reading_floors(place: Workplace, tree: Tree, root: Path) -> dict[str, Action]:
    """The same if every file has to be read, with a hook at the start of a session and one at its first
    prompt."""
    return _at_once(place, tree, root, ["-type", "f", "-exec", "sha256sum", "{}", "+"], hooks=2)


def _at_once(place: Workplace, tree: Tree, root: Path, what: list[str], hooks: int) -> dict[str, Action]:
    find = shutil.which("find")
    if find is None or shutil.which("sha256sum") is None or sys.platform != "linux":
        return {}
    walks = [[find, *(str(root / name) for name in half), *what] for half in _halves(tree) if half]

    def run() -> None:
        for _ in range(hooks):
            idle_hook(place)
        running = [place.spawner.start(walk, slot=str(slot)) for slot, walk in enumerate(walks)]
        for started in running:
            started.wait()

    return {"floor": run}


def _halves(tree: Tree) -> list[list[str]]:
    """The top-level names, in two parts with about the same number of files."""
    counts = Counter(path.split("/", 1)[0] for path in tree.paths)
    halves: list[list[str]] = [[], []]
    sizes = [0, 0]
    for name, count in counts.most_common():
        lighter = sizes.index(min(sizes))
        halves[lighter].append(name)
        sizes[lighter] += count
    return halves
