"""`rewind list` in a project with many checkpoints, against the bare start of Python."""

from __future__ import annotations

from bench import many, trees
from bench.measure import interleave
from bench.rows.row import Outcome, Row, Unfaithful, compare
from bench.workplace import Workplace


def _list(place: Workplace) -> Outcome:
    tree = place.plain_tree("listed", trees.TreeSpec(40, 600))
    rewind = place.rewind(tree.root)
    rewind.init()
    # The first one came with init.
    many.make(rewind, "checkpoints", place.options.listed - 1)
    if rewind.count() < place.options.listed:
        raise Unfaithful(f"list shows {rewind.count()} of {place.options.listed} checkpoints")
    rewind.list()
    taken = interleave(
        {"ours": rewind.list, "python": place.bare_python}, max(15, place.options.rounds)
    )
    return compare(taken["ours"], taken["python"])


ROWS = [Row("list", "`list` with 1,000 checkpoints ÷ bare start of Python", 3.0, _list)]
