"""The physical floor: a program in C that only looks at every file, against all that a checkpoint does."""

from __future__ import annotations

import shutil
import sys

from bench.measure import interleave
from bench.rows.row import Outcome, Row, Skipped, compare
from bench.workplace import Workplace

LOOK = "%i %m %s %T@ %p\\0"


def stat_walk(place: Workplace, project: str) -> list[str]:
    """`find` that prints what a snapshot has to know of each file, without git's and Rewind's own."""
    find = shutil.which("find")
    if find is None or sys.platform != "linux":
        raise Skipped("there is no GNU find here")
    left_out = ["(", "-name", ".git", "-o", "-name", ".agent", ")", "-prune"]
    return [find, project, *left_out, "-o", "-printf", LOOK]


def _floor(place: Workplace) -> Outcome:
    pair = place.pair
    place.calm(pair)
    walk = stat_walk(place, str(pair.ours))
    taken = interleave(
        {"ours": pair.rewind.save, "walk": lambda: place.spawner.run(walk)}, place.options.rounds
    )
    return compare(taken["ours"], taken["walk"])


ROWS = [Row("floor", "checkpoint, nothing changed ÷ a bare stat walk in C (`find -printf`)", None, _floor)]
