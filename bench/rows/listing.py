"""`rewind list` in a project with many checkpoints, against the bare start of Python."""

from __future__ import annotations

from bench import trees
from bench.measure import interleave
from bench.rows.row import Outcome, Row, Unfaithful, compare
from bench.workplace import Workplace, say


def _list(place: Workplace) -> Outcome:
    tree = place.plain_tree("listed", trees.TreeSpec(40, 600))
    edits = trees.Edits(tree, seed=3)
    rewind = place.rewind(tree.root)
    rewind.init()
    say(f"making {place.options.listed} checkpoints")
    # The first one came with init.
    for _ in range(place.options.listed - 1):
        edits.apply(1, tree.root)
        rewind.save()
    if rewind.count() < place.options.listed:
        raise Unfaithful(f"list shows {rewind.count()} of {place.options.listed} checkpoints")
    rewind.list()
    taken = interleave(
        {"ours": rewind.list, "python": place.bare_python}, max(15, place.options.rounds)
    )
    return compare(taken["ours"], taken["python"])


ROWS = [Row("list", "`list` with 1,000 checkpoints ÷ bare start of Python", 3.0, _list)]
