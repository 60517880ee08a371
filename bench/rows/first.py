"""The first checkpoint of a project, against the first commit of a full shadow repository."""

from __future__ import annotations

import os

from bench.measure import interleave
from bench.peers.shadow import ShadowRepository
from bench.rows.row import Outcome, Row, compare
from bench.workplace import Workplace


def _first(place: Workplace) -> Outcome:
    project = place.copy("first")
    rewind = place.rewind(project)
    shadow = ShadowRepository(place.spawner, project, place.fresh("shadow.git"))

    def start_over(who: str) -> None:
        if who == "ours":
            rewind.rest(place.options.settle)
        rewind.remove()
        shadow.remove()
        os.sync()

    os.sync()
    # Each store is removed right after its turn, so that neither side sees the other's, nor
    # waits for the other's dirty pages.
    taken = interleave(
        {"ours": rewind.init, "theirs": shadow.first},
        max(3, place.options.rounds // 2),
        after=start_over,
    )
    return compare(taken["ours"], taken["theirs"])


ROWS = [Row("first", "first checkpoint ÷ a full shadow repository", 0.3, _first)]
