"""Bringing fifty edited files back, against both ways in which opencode does it."""

from __future__ import annotations

from typing import Callable

from bench.measure import interleave, settle
from bench.rows.row import Outcome, Row, Runner, Unfaithful, compare
from bench.trees import fingerprint
from bench.workplace import Pair, Workplace

FILES = 50
Theirs = Callable[[Pair, str, "list[str]"], None]


def against(theirs: Theirs, size: int | None = None) -> Runner:
    def run(place: Workplace) -> Outcome:
        pair = place.pair if size is None else place.pair_of(place.options.sizes[size])
        place.calm(pair)
        name, tree = pair.rewind.save_named(), pair.opencode.snapshot()
        pair.rewind.restore_options()
        wanted = {"ours": fingerprint(pair.ours), "theirs": fingerprint(pair.theirs)}
        roots = {"ours": pair.ours, "theirs": pair.theirs}
        edited: list[str] = []

        def edit() -> None:
            edited[:] = pair.edits.apply(FILES, pair.ours, pair.theirs)
            settle(place.options.settle)

        def check(who: str) -> None:
            if fingerprint(roots[who]) != wanted[who]:
                raise Unfaithful(f"{who}: the tree differs from the checkpoint after a restore")

        taken = interleave(
            {
                "ours": lambda: pair.rewind.restore(name),
                "theirs": lambda: theirs(pair, tree, edited),
            },
            place.options.rounds,
            before=edit,
            after=check,
        )
        return compare(taken["ours"], taken["theirs"], "each of ours also makes a backup")

    return run


def _whole(pair: Pair, tree: str, edited: list[str]) -> None:
    pair.opencode.whole(tree)


def known_paths(pair: Pair, tree: str, edited: list[str]) -> None:
    pair.opencode.revert(tree, edited)


ROWS = [
    # Before the other one, which leaves git's index without stat data.
    Row(
        "revert",
        "restore of 50 edited files ÷ opencode's undo of the same",
        1.0,
        against(known_paths),
        stretch=0.8,
    ),
    Row("restore", "restore of 50 edited files ÷ opencode's whole restore", 1.0, against(_whole)),
]
