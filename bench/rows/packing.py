"""A save while the first checkpoint is compressed in the background, against one after that."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

from bench.measure import Sample, Times, timed
from bench.ours import Rewind
from bench.rows.row import Outcome, Row, compare
from bench.skipped import Skipped
from bench.workplace import Workplace

_SAVES = 5


def _packing(place: Workplace) -> Outcome:
    """The first save comes right after `init`, as an agent's first checkpoint does."""
    rewind = place.rewind(place.copy("packing"))
    during: list[Times] = []
    without: list[Times] = []
    for _ in range(place.options.few):
        os.sync()
        rewind.init()
        for _ in range(_SAVES):
            took = timed(rewind.save)
            if _is_packing(rewind):
                during.append(took)
        rewind.wait_until_idle(place.options.settle)
        without += [timed(rewind.save) for _ in range(_SAVES)]
        rewind.forget()
    if not during:
        raise Skipped("the tree is too small to be compressed afterwards")
    busy = Sample.of(during)
    return compare(busy, Sample.of(without), f"slowest {max(busy.values):,.0f} ms")


def _is_packing(rewind: Rewind) -> bool:
    with closing(sqlite3.connect(rewind.state / "objects.db")) as store:
        return bool(store.execute("SELECT 1 FROM meta WHERE key='loose'").fetchall())


ROWS = [Row("packing", "save while the first checkpoint is packed ÷ save afterwards", 1.5, _packing)]
