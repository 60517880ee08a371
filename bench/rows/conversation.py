"""Long conversations: finding the last prompt, forking, and saving the last turn."""

from __future__ import annotations

import os

from bench.measure import interleave, settle
from bench.ours import Rewind
from bench.peers.peer import tool
from bench.rows.row import Outcome, Row, Unfaithful, compare
from bench.workplace import Workplace, say

_SMALL = 1 << 20


def _with_talk(place: Workplace, name: str, size: int, files: int = 40) -> Rewind:
    rewind = place.small_project(name, files)
    say(f"making a conversation of {size >> 20} MB")
    rewind.talk.grow_to(size)
    return rewind


def _sizes(place: Workplace) -> tuple[int, int]:
    return (64 << 20, 32 << 20) if place.options.quick else (1 << 30, 200 << 20)


def _back(place: Workplace) -> Outcome:
    long, short = (_with_talk(place, f"talk-{size}", size) for size in (_sizes(place)[0], _SMALL))
    taken = interleave({"long": lambda: long.back(long.talk.path, "--dry-run"),
                        "short": lambda: short.back(short.talk.path, "--dry-run")}, place.options.rounds)
    long.talk.remove()
    return compare(taken["long"], taken["short"])


def _fork(place: Workplace) -> Outcome:
    rewind = _with_talk(place, "forked", _sizes(place)[0])
    talk = rewind.talk
    copy = talk.path.with_suffix(".copy")

    def check(name: str) -> None:
        if name == "ours":
            made = sorted(talk.others())
            if len(made) != 1 or os.path.getsize(talk.path.parent / made[0]) < talk.path.stat().st_size * 0.9:
                raise Unfaithful(f"the fork is not there or too short: {made}")
            os.unlink(talk.path.parent / made[0])
        else:
            copy.unlink()

    def cp() -> None:
        place.spawner.run([tool("cp"), str(talk.path), str(copy)])

    taken = interleave({"ours": lambda: rewind.back(talk.path), "cp": cp}, place.options.few, after=check)
    talk.remove()
    return compare(taken["ours"], taken["cp"])


def _checkpoint(place: Workplace) -> Outcome:
    sides = {name: _with_talk(place, name, size, 1000)
             for name, size in (("long", _sizes(place)[1]), ("short", _SMALL))}

    def add_turn() -> None:
        for rewind in sides.values():
            rewind.talk.add_turn()

    settle(place.options.settle)  # otherwise the files of the newer tree would be read again each time
    for rewind in sides.values():
        wait_until_written = rewind.prompt()
        wait_until_written()
    taken = interleave({name: rewind.prompt for name, rewind in sides.items()}, place.options.rounds,
                       before=add_turn)
    sides["long"].talk.remove()
    return compare(taken["long"], taken["short"])


ROWS = [
    Row("back", "`back 1 --dry-run` with a transcript of 1 GB ÷ with 1 MB", 1.5, _back),
    Row("fork", "`back 1` of a transcript of 1 GB ÷ `cp`", 1.2, _fork),
    Row("transcript", "hook, transcript of 200 MB ÷ of 1 MB", 1.3, _checkpoint),
]
