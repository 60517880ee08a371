"""A checkpoint after no file, one file or fifty files changed: by the hook that an agent waits for, and by
`rewind save`, against opencode's snapshot and the bare start of Python."""

from __future__ import annotations

from functools import cache

from bench.floor import floors
from bench.measure import Sample, interleave, settle
from bench.rows.row import Outcome, Row, Runner, Unfaithful, compare
from bench.watchman import find_watchman, unwatch, watch
from bench.workplace import DJANGO, MAIN, ONE_TREE, Pair, Workplace


@cache
def times(place: Workplace, tag: str, count: int) -> dict[str, Sample]:
    """The times of all contenders after `count` edits. All rows that compare two of them use this
    measurement."""
    pair = place.pair(tag)
    place.warm_up(pair)
    return _taken(place, pair, count, place.options.rounds_in(tag))


@cache
def watched_times(place: Workplace, tag: str) -> dict[str, Sample]:
    """The same with nothing changed, while Watchman watches both of our projects."""
    program = find_watchman(place)
    pair = place.pair(tag)
    both = {id(rewind): rewind for rewind in (pair.hooked, pair.saved)}.values()
    for rewind in both:
        watch(place, program, rewind)
    place.warm_up(pair)
    try:
        return _taken(place, pair, 0, place.options.rounds)
    finally:
        for rewind in both:
            unwatch(rewind)


def _taken(place: Workplace, pair: Pair, count: int, rounds: int) -> dict[str, Sample]:
    def work() -> None:
        pair.hooked.talk.add_turn()
        if count:
            pair.edit(count)
            settle(place.options.settle)

    before = pair.hooked.count() + pair.saved.count()
    shared = pair.hooked is pair.saved
    taken = interleave(
        {
            "hook": pair.hooked.prompt,
            "save": pair.saved.save,
            "opencode": pair.opencode.snapshot,
            "python": place.bare_python,
            **floors(place, pair.tree, pair.hooked.project),
        },
        rounds,
        before=work,
    )
    pair.hooked.wait_until_idle(place.options.settle)  # a child process may finish the checkpoint of a hook
    made = pair.hooked.count() + pair.saved.count() - before
    if made != 2 * rounds * (2 if shared else 1):
        raise Unfaithful(f"{made} checkpoints were made in {rounds} rounds")
    return taken


def _against(other: str, tag: str = MAIN, count: int = 0, ours: str = "hook") -> Runner:
    def run(place: Workplace) -> Outcome:
        taken = times(place, tag, count)
        return compare(taken[ours], taken[other], floor=taken.get("floor"))

    return run


def _written(other: str, tag: str = MAIN, count: int = 0) -> Runner:
    """The time until the checkpoint is on the disk and the process has ended. The agent does not wait for
    this."""
    def run(place: Workplace) -> Outcome:
        taken = times(place, tag, count)
        return compare(taken["hook"].until_the_end, taken[other])

    return run


def _watched(other: str, tag: str) -> Runner:
    def run(place: Workplace) -> Outcome:
        taken = watched_times(place, tag)
        return compare(taken["hook"], taken[other], "nobody looks at every file")

    return run


def _per_file(place: Workplace) -> Outcome:
    small, large = (times(place, tag, 0)["hook"] for tag in (MAIN, "100k"))
    fewer, more = (place.options.files[tag] for tag in (MAIN, "100k"))
    cost = compare(large, small)
    return Outcome(cost.ratio * fewer / more, cost.ours, cost.other)


ROWS = [
    Row("hook-1k", "hook, nothing changed, 1,000 files ÷ bare start", 3.5, _against("python", "1k")),
    Row("hook-1k-opencode", "hook, nothing changed, 1,000 files ÷ opencode", None,
        _against("opencode", "1k")),
    Row("hook", "hook, nothing changed, 20,000 files ÷ opencode", 1.6, _against("opencode")),
    Row("hook-watchman", "hook, nothing changed, 20,000 files, Watchman ÷ opencode", 0.9,
        _watched("opencode", MAIN)),
    Row("hook-start", "hook, nothing changed, 20,000 files ÷ bare start", None, _against("python")),
    Row("hook-1", "hook, 1 file edited ÷ opencode", 0.9, _against("opencode", count=1)),
    Row("hook-50", "hook, 50 files edited ÷ opencode", 0.7, _against("opencode", count=50)),
    Row("hook-1k-written", "hook, nothing changed, 1,000 files, until it is written ÷ bare start", None,
        _written("python", "1k")),
    Row("hook-written", "hook, nothing changed, until it is written ÷ opencode", None, _written("opencode")),
    Row("hook-50-written", "hook, 50 files edited, until it is written ÷ opencode", None,
        _written("opencode", count=50)),
    Row("save", "`rewind save`, nothing changed ÷ opencode", None, _against("opencode", ours="save")),
    Row("save-1", "`rewind save`, 1 file edited ÷ opencode", None,
        _against("opencode", count=1, ours="save")),
    Row("save-50", "`rewind save`, 50 files edited ÷ opencode", None,
        _against("opencode", count=50, ours="save")),
    Row("hook-100k", "hook, nothing changed, 100,000 files ÷ opencode", 1.1, _against("opencode", "100k")),
    Row("hook-100k-watchman", "hook, nothing changed, 100,000 files, Watchman ÷ opencode", 0.3,
        _watched("opencode", "100k")),
    Row("scale", "hook, cost per file at 100,000 files ÷ at 20,000", 1.2, _per_file),
    Row("django", "Django: hook, nothing changed ÷ opencode", None, _against("opencode", DJANGO)),
    Row("django-1", "Django: hook, 1 file edited ÷ opencode", None, _against("opencode", DJANGO, 1)),
    Row("django-50", "Django: hook, 50 files edited ÷ opencode", None, _against("opencode", DJANGO, 50)),
    Row("hook-1m", "hook, nothing changed, 1,000,000 files ÷ opencode", None, _against("opencode", ONE_TREE),
        "large"),
    Row("hook-1m-watchman", "hook, nothing changed, 1,000,000 files, Watchman ÷ bare start", 6.0,
        _watched("python", ONE_TREE), "large"),
]
