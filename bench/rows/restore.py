"""Restores fifty edited files, alone and with the conversation, against opencode's undo."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bench.floor import floors
from bench.measure import Action, interleave, settle
from bench.rows.row import Outcome, Row, Runner, Unfaithful, compare
from bench.trees import fingerprint
from bench.workplace import DJANGO, MAIN, Pair, Workplace

FILES = 50


class _Undo:
    """Rounds of edits that both sides undo. The result is checked every time."""

    def __init__(self, place: Workplace, pair: Pair) -> None:
        self._place = place
        self._pair = pair
        pair.hooked.hook("stop")  # a turn that is still open cannot be taken back
        place.warm_up(pair)
        self._tree = pair.opencode.snapshot()
        self._wanted = fingerprint(pair.hooked.project)
        self._edited: list[str] = []

    def edit(self) -> None:
        self._edited = self._pair.edit(FILES)
        settle(self._place.options.settle)

    def opencode(self) -> None:
        self._pair.opencode.revert(self._tree, self._edited)

    def check(self, who: str) -> None:
        if who != "floor":
            self._compare(who, self._edited)

    def check_all(self) -> None:
        for who in ("ours", "opencode"):
            self._compare(who, None)

    def _compare(self, who: str, paths: Iterable[str] | None) -> None:
        root: Path = self._pair.saved.project if who == "opencode" else self._pair.hooked.project
        found = fingerprint(root, paths)
        if any(self._wanted.get(path) != is_now for path, is_now in found.items()):
            raise Unfaithful(f"{who}: the tree differs from the checkpoint after a restore")

    def measure(self, ours: Action, before: Action, rounds: int, note: str) -> Outcome:
        sides = {"ours": ours, "opencode": self.opencode,
                 **floors(self._place, self._pair.tree, self._pair.hooked.project)}
        taken = interleave(sides, rounds, before=before, after=self.check)
        self.check_all()
        return compare(taken["ours"], taken["opencode"], note, taken.get("floor"))


def _restore(tag: str) -> Runner:
    def run(place: Workplace) -> Outcome:
        pair = place.pair(tag)
        undo = _Undo(place, pair)
        name = pair.hooked.save_named()
        return undo.measure(lambda: pair.hooked.restore(name), undo.edit, place.options.rounds_in(tag),
                            "ours also makes a backup")

    return run


def _back(place: Workplace) -> Outcome:
    """A whole turn is taken back: a prompt, fifty edits, the end of the turn, then `back 1 --both`."""
    pair = place.pair()
    rewind, talk = pair.hooked, pair.hooked.talk
    undo = _Undo(place, pair)
    known = talk.others()

    def turn() -> None:
        for name in talk.others() - known:  # the fork of the previous round
            (talk.path.parent / name).unlink()
        asked = rewind.next_prompt()
        rewind.hook("user-prompt-submit", **asked)
        talk.add_turn(str(asked["prompt"]))
        undo.edit()
        rewind.hook("stop")

    def ours() -> None:
        rewind.back(talk.path, "--both")
        if len(talk.others() - known) != 1:
            raise Unfaithful("`back 1 --both` made no fork")

    return undo.measure(ours, turn, place.options.few, "ours also forks the conversation")


ROWS = [
    Row("restore", "restore of 50 edited files ÷ opencode's undo", 0.8, _restore(MAIN)),
    Row("back-both", "`back 1 --both` of a turn with 50 edited files ÷ opencode's undo", None, _back),
    Row("django-restore", "Django: restore of 50 edited files ÷ opencode's undo", None, _restore(DJANGO)),
]
