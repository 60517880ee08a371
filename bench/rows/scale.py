"""Whether a checkpoint's cost per file stays the same in a tree ten times as large."""

from __future__ import annotations

from bench.measure import interleave, settle
from bench.ours import Rewind
from bench.rows.row import Outcome, Row, milliseconds
from bench.workplace import Workplace, say


def _per_file(place: Workplace) -> Outcome:
    small, large = place.options.scale
    contenders = {size: _protected(place, size) for size in (small, large)}
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


def _protected(place: Workplace, size: int) -> Rewind:
    rewind = place.scaled(size)
    if not rewind.state.exists():
        say(f"first checkpoint of {size} files")
        rewind.init()
        rewind.rest(place.options.settle)
    return rewind


ROWS = [Row("scale", "cost per file at 100,000 files ÷ at 10,000", 1.2, _per_file)]
