"""The first snapshot of a project with many untracked files, where opencode gets slow."""

from __future__ import annotations

from bench import trees
from bench.measure import Sample
from bench.peers.git import commit_tracked
from bench.peers.opencode import Opencode
from bench.rows.first import in_turns
from bench.rows.row import Curve, Finding, Row, Step, compare, milliseconds
from bench.workplace import Workplace

ROUNDS = 3


def _untracked(place: Workplace) -> list[Finding]:
    found = {files: _first(place, files) for files in place.options.untracked}
    compared = [compare(taken["ours"], taken["theirs"]) for taken in found.values()]
    return [compared[-1], _curve("rewind", found, "ours"), _curve("opencode", found, "theirs")]


def _curve(who: str, found: dict[int, dict[str, Sample]], side: str) -> Curve:
    steps = tuple(Step(files, milliseconds(taken[side])) for files, taken in found.items())
    what = f"first snapshot, {who}"
    return Curve(f"untracked-{who}", what, "untracked files", steps, limit=None)


def _first(place: Workplace, files: int) -> dict[str, Sample]:
    tree = place.plain_tree(f"untracked-{files}", trees.TreeSpec(files, 600))
    commit_tracked(place.spawner, tree.root, tree.paths)
    rewind = place.rewind(tree.root)
    opencode = Opencode(place.spawner, tree.root, place.fresh("untracked.git"))
    return in_turns(place, rewind, rewind.init, opencode, ROUNDS)


ROWS = [Row("untracked", "`rewind init` of 40,000 untracked files ÷ opencode's first snapshot", None,
            _untracked, "more")]
