"""The hook and opencode with an empty file cache, as for the first prompt after a while."""

from __future__ import annotations

from bench.cold import CannotCool, cool
from bench.measure import interleave, settle
from bench.rows.row import Outcome, Row, Runner, compare
from bench.skipped import Skipped
from bench.workplace import Pair, Workplace, say


def _checkpoint(count: int) -> Runner:
    def run(place: Workplace) -> Outcome:
        pair = place.pair()

        def edit() -> None:
            if count:
                pair.edit(count)
                settle(place.options.settle)

        place.warm_up(pair)
        empty_cache = _EmptyCache(pair)
        taken = interleave({"ours": pair.hooked.prompt, "theirs": pair.opencode.snapshot},
                           place.options.few, before=edit, ready=empty_cache)
        return compare(taken["ours"], taken["theirs"], empty_cache.how)

    return run


class _EmptyCache:
    """Empties the cache before a contender's turn, and remembers how that was done."""

    def __init__(self, pair: Pair) -> None:
        self._roots = (pair.hooked.project, pair.saved.project, pair.hooked.state, pair.opencode.store)
        self.how = ""

    def __call__(self, who: str) -> None:
        try:
            how = cool(*self._roots)
        except CannotCool as reason:
            raise Skipped(f"no cold cache here: {reason}") from None
        if how != self.how:
            say(f"cold cache: {how}")
        self.how = how


ROWS = [
    Row("cold", "cold cache: hook, nothing changed ÷ opencode", None, _checkpoint(0),
        "more"),
    Row("cold-50", "cold cache: hook, 50 files edited ÷ opencode", None, _checkpoint(50),
        "more"),
]
