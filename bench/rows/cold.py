"""The same against opencode with nothing in the cache: the first command after a while."""

from __future__ import annotations

from bench.cold import CannotCool, cool
from bench.measure import interleave, settle
from bench.rows.restore import known_paths
from bench.rows.row import Outcome, Row, Runner, Skipped, Unfaithful, compare
from bench.trees import fingerprint
from bench.workplace import Workplace, say


def _checkpoint(count: int) -> Runner:
    def run(place: Workplace) -> Outcome:
        pair = place.pair

        def edit() -> None:
            if count:
                pair.edits.apply(count, pair.ours, pair.theirs)
                settle(place.options.settle)

        place.calm(pair)
        chill = _Chill(place)
        taken = interleave({"ours": pair.rewind.save, "theirs": pair.opencode.snapshot},
                           place.options.rounds, before=edit, ready=chill)
        return compare(taken["ours"], taken["theirs"], chill.how)

    return run


def _restore(place: Workplace) -> Outcome:
    pair = place.pair
    place.calm(pair)
    name, tree = pair.rewind.save_named(), pair.opencode.snapshot()
    pair.rewind.restore_options()
    wanted = {"ours": fingerprint(pair.ours), "theirs": fingerprint(pair.theirs)}
    edited: list[str] = []

    def edit() -> None:
        edited[:] = pair.edits.apply(50, pair.ours, pair.theirs)
        settle(place.options.settle)

    chill = _Chill(place)
    taken = interleave({"ours": lambda: pair.rewind.restore(name),
                        "theirs": lambda: known_paths(pair, tree, edited)},
                       place.options.rounds, before=edit, ready=chill)
    if {"ours": fingerprint(pair.ours), "theirs": fingerprint(pair.theirs)} != wanted:
        raise Unfaithful("a tree differs from the checkpoint after a restore")
    return compare(taken["ours"], taken["theirs"], chill.how)


class _Chill:
    """Empties the cache before one contender's turn, and remembers how that went."""

    def __init__(self, place: Workplace) -> None:
        self._place = place
        self.how = ""

    def __call__(self, who: str) -> None:
        pair = self._place.pair
        try:
            how = cool(pair.ours, pair.theirs, pair.opencode.store)
        except CannotCool as reason:
            raise Skipped(f"no cold cache here: {reason}") from None
        if how != self.how:
            say(f"cold cache: {how}")
        self.how = how


ROWS = [
    Row("cold-unchanged", "cold cache: checkpoint, nothing changed ÷ opencode", None, _checkpoint(0)),
    Row("cold-edit-50", "cold cache: checkpoint, 50 files edited ÷ opencode", None, _checkpoint(50)),
    Row("cold-revert", "cold cache: restore of 50 files ÷ opencode's undo", None, _restore),
]
