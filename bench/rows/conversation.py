"""Long conversations: finding the last prompt, forking, and checkpointing what was said since."""

from __future__ import annotations

import os

from bench import trees
from bench.measure import Sample, interleave
from bench.peers.peer import tool
from bench.rows.row import Outcome, Row, Unfaithful, compare
from bench.talk import Talk
from bench.workplace import Workplace

_SMALL = 1 << 20


def _sizes(place: Workplace) -> tuple[int, int]:
    return (64 << 20, 32 << 20) if place.options.quick else (1 << 30, 200 << 20)


def _back(place: Workplace) -> Outcome:
    """In one process that does nothing else: with its start the two would be the same anyway."""
    tree = place.plain_tree("talk", trees.TreeSpec(10, 100))
    long, short = Talk(place, tree.root, _sizes(place)[0]), Talk(place, tree.root, _SMALL)
    source = str(place.options.script.parent.parent / "src")
    code = ("import sys,time; sys.path.insert(0, sys.argv[1])\n"
            "from rewind.transcript.boundary import find_boundary_by_user_prompts as find\n"
            "for path in sys.argv[2:]*int(21):\n"
            "  t=time.perf_counter(); find(path, 1); print((time.perf_counter()-t)*1000)\n")
    text = place.spawner.output([place.options.python, "-I", "-S", "-c", code, source,
                                 str(long.path), str(short.path)])
    found = [float(line) for line in text.split()][2:]  # the first round loads what it needs
    long.remove()
    short.remove()
    return compare(Sample(tuple(found[0::2])), Sample(tuple(found[1::2])))


def _fork(place: Workplace) -> Outcome:
    tree = place.plain_tree("forked", trees.TreeSpec(10, 100))
    rewind = place.rewind(tree.root)
    rewind.init()
    talk = Talk(place, tree.root, _sizes(place)[0])
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

    rounds = max(3, place.options.rounds // 2)
    taken = interleave({"ours": lambda: rewind.back(str(talk.path)), "cp": cp}, rounds, after=check)
    talk.remove()
    return compare(taken["ours"], taken["cp"])


def _checkpoint(place: Workplace) -> Outcome:
    sides = {}
    for name, size in (("long", _sizes(place)[1]), ("short", _SMALL)):
        tree = place.plain_tree(name, trees.TreeSpec(1000, 600))
        rewind = place.rewind(tree.root)
        rewind.init()
        sides[name] = (rewind, Talk(place, tree.root, size))
        rewind.save()

    def go_on() -> None:
        for _, talk in sides.values():
            talk.go_on()

    rounds = max(15, place.options.rounds)
    taken = interleave({name: rewind.save for name, (rewind, _) in sides.items()}, rounds, before=go_on)
    for _, talk in sides.values():
        talk.remove()
    return compare(taken["long"], taken["short"])


ROWS = [
    Row("back", "`back 1`: boundary in a 1 GB transcript ÷ in 1 MB", 1.5, _back),
    Row("fork", "fork of a 1 GB transcript ÷ `cp`", 1.2, _fork),
    Row("transcript", "checkpoint with a 200 MB transcript ÷ with 1 MB", 1.3, _checkpoint),
]
