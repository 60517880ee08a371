"""Whether a checkpoint's cost per file stays the same in a tree ten times as large."""

from __future__ import annotations

from bench.measure import interleave, settle
from bench.ours import Rewind
from bench.rows.row import Outcome, Row, milliseconds
from bench.trees import TreeSpec
from bench.workplace import Workplace, say

# Only names and stat data matter when nothing changed, so the files are small.
MEAN_BYTES = 600


def _per_file(place: Workplace) -> Outcome:
    small, large = place.options.scale
    contenders = {size: _project(place, size) for size in (small, large)}
    for _ in range(2):
        settle(place.options.settle)
        for rewind in contenders.values():
            rewind.save()
    settle(place.options.settle)
    taken = interleave(
        {str(size): rewind.save for size, rewind in contenders.items()}, place.options.rounds
    )
    a, b = taken[str(small)], taken[str(large)]
    ratio = (b.median / large) / (a.median / small)
    return Outcome(ratio, milliseconds(b), milliseconds(a), f"{large} files ÷ {small} files")


def _project(place: Workplace, size: int) -> Rewind:
    tree = place.plain_tree(f"files-{size}", TreeSpec(size, MEAN_BYTES))
    rewind = place.rewind(tree.root)
    say(f"first checkpoint of {size} files")
    rewind.init()
    return rewind


ROWS = [Row("scale", "cost per file at 100,000 files ÷ at 10,000", 1.2, _per_file)]
