"""A checkpoint after nothing, one file or fifty files changed, against opencode's snapshot."""

from __future__ import annotations

from bench.measure import interleave, settle
from bench.rows.row import Outcome, Row, Runner, compare
from bench.workplace import Workplace


def after_edits(count: int, size: int | None = None) -> Runner:
    """In the tree of the usual size, or in the smaller (0) or the larger (1) one."""

    def run(place: Workplace) -> Outcome:
        pair = place.pair if size is None else place.pair_of(place.options.sizes[size])

        def edit() -> None:
            if count:
                pair.edits.apply(count, pair.ours, pair.theirs)
                settle(place.options.settle)

        place.calm(pair)
        settle(place.options.settle)
        taken = interleave(
            {"ours": pair.rewind.save, "theirs": pair.opencode.snapshot},
            place.options.rounds,
            before=edit,
        )
        return compare(taken["ours"], taken["theirs"])

    return run


ROWS = [
    Row("unchanged", "checkpoint, nothing changed ÷ opencode", 1.3, after_edits(0), stretch=1.0),
    Row("edit-1", "checkpoint, 1 file edited ÷ opencode", 1.0, after_edits(1), stretch=0.8),
    Row("edit-50", "checkpoint, 50 files edited ÷ opencode", 0.8, after_edits(50), stretch=0.6),
]
