"""Long conversations: finding the last prompt, forking, and checkpointing what was said since."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from bench import trees
from bench.measure import Sample, interleave
from bench.rows.row import Outcome, Row, Unfaithful, compare
from bench.workplace import Workplace, say

_SMALL = 1 << 20
_TEXT = "All work and no play makes for a dull transcript. " * 40


class Talk:
    """A transcript in the shape of Claude Code's, as long as it is wanted, for one project."""

    def __init__(self, place: Workplace, project: Path, size: int) -> None:
        folder = "".join(c if c.isascii() and c.isalnum() else "-" for c in os.path.realpath(project))
        self.path = place.root / "home" / ".claude" / "projects" / folder / f"{_uuid(size)}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._project = os.path.realpath(project)
        self._lines = 0
        say(f"making a conversation of {size >> 20} MB")
        with open(self.path, "wb") as file:
            while file.tell() < size:
                file.write(self._turn())

    def go_on(self) -> None:
        with open(self.path, "ab") as file:
            file.write(self._turn())

    def _turn(self) -> bytes:
        lines = [self._line("user", f"Prompt {self._lines}", promptSource="typed")]
        lines += [self._line("assistant", [{"type": "text", "text": _TEXT}]) for _ in range(20)]
        return b"".join(lines)

    def _line(self, kind: str, content: object, **more: object) -> bytes:
        parent = _uuid(self._lines) if self._lines else None
        self._lines += 1
        data = {"parentUuid": parent, "isSidechain": False, "type": kind, "uuid": _uuid(self._lines),
                "timestamp": "2026-11-15T10:00:00.000Z", "cwd": self._project, "sessionId": "x",
                "version": "2.1.325", "message": {"role": kind, "content": content}, **more}
        return json.dumps(data, separators=(",", ":")).encode() + b"\n"


def _uuid(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


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
    _remove(long, short)
    return compare(Sample(tuple(found[0::2])), Sample(tuple(found[1::2])))


def _fork(place: Workplace) -> Outcome:
    tree = place.plain_tree("forked", trees.TreeSpec(10, 100))
    rewind = place.rewind(tree.root)
    rewind.init()
    talk = Talk(place, tree.root, _sizes(place)[0])
    copy = talk.path.with_suffix(".copy")
    before = set(os.listdir(talk.path.parent))

    def check(name: str) -> None:
        if name == "ours":
            made = [n for n in set(os.listdir(talk.path.parent)) - before if n.endswith(".jsonl")]
            if len(made) != 1 or os.path.getsize(talk.path.parent / made[0]) < talk.path.stat().st_size * 0.9:
                raise Unfaithful(f"the fork is not there or too short: {made}")
            os.unlink(talk.path.parent / made[0])
        else:
            copy.unlink()

    def cp() -> None:
        subprocess.run(["cp", str(talk.path), str(copy)], check=True)

    taken = interleave({"ours": lambda: rewind.back(str(talk.path)), "cp": cp}, 5, after=check)
    _remove(talk)
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
    _remove(*(talk for _, talk in sides.values()))
    return compare(taken["long"], taken["short"])


def _remove(*talks: Talk) -> None:
    for talk in talks:
        talk.path.unlink()


ROWS = [
    Row("back", "`back 1`: boundary in a 1 GB transcript ÷ in 1 MB", 1.5, _back),
    Row("fork", "fork of a 1 GB transcript ÷ `cp`", 1.2, _fork),
    Row("transcript", "checkpoint with a 200 MB transcript ÷ with 1 MB", 1.3, _checkpoint),
]
