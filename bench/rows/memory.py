"""The peak memory of a hook, of a save and of a first checkpoint, in trees of every size."""

from __future__ import annotations

import os
import statistics

from bench.memory import peak_bytes
from bench.ours import Rewind
from bench.rows.row import Curve, Finding, Row, Runner, Step, megabytes
from bench.workplace import MAIN, ONE_TREE, Workplace, say

RUNS = 3


def _memory(*tags: str) -> Runner:
    def run(place: Workplace) -> list[Finding]:
        files = {tag: place.options.files[tag] for tag in tags}
        hooks = {files[tag]: _hook(place, place.pair(tag).hooked) for tag in tags}
        saves = {files[tag]: _save(place, place.pair(tag).saved) for tag in tags}
        firsts = {files[tag]: _first(place, tag) for tag in tags}
        return [_curve("hook", "hook, nothing changed: peak memory", hooks),
                _curve("save", "`rewind save`, nothing changed: peak memory", saves),
                _curve("first", "`rewind init`: peak memory", firsts)]

    return run


def _hook(place: Workplace, rewind: Rewind) -> float:
    os.chdir(rewind.project)
    return statistics.median(
        peak_bytes(place.spawner, place.options.python, rewind.hook_command("user-prompt-submit"),
                   rewind.payload(**rewind.next_prompt()))
        for _ in range(RUNS))


def _save(place: Workplace, rewind: Rewind) -> float:
    return statistics.median(_peak(place, rewind, "save", "bench") for _ in range(RUNS))


def _first(place: Workplace, tag: str) -> float:
    """Measured in the tree from which the others were copied."""
    rewind = place.rewind(place.repository(tag).root)
    if tag == ONE_TREE:
        place.pair(tag).hooked.forget()  # the last row that needs it
    say("a first checkpoint, for its memory")
    peak = _peak(place, rewind, "init")
    rewind.wait_until_idle(place.options.settle)
    rewind.forget()
    return peak


def _peak(place: Workplace, rewind: Rewind, *arguments: str) -> int:
    os.chdir(rewind.project)
    return peak_bytes(place.spawner, place.options.python, rewind.command(*arguments))


def _curve(name: str, what: str, peaks: dict[int, float]) -> Curve:
    steps = tuple(Step(files, megabytes(peak)) for files, peak in peaks.items())
    (small, low), (large, high) = min(peaks.items()), max(peaks.items())
    note = f"{(high - low) / (large - small):.0f} bytes for each file more" if large > small else ""
    return Curve(f"memory-{name}", what, "files", steps, limit=None, note=note)


ROWS = [
    Row("memory", "peak memory of hook, save and first checkpoint by files", None,
        _memory("1k", MAIN, "100k")),
    Row("memory-1m", "peak memory of hook, save and first checkpoint, 1,000,000 files", None,
        _memory("1k", ONE_TREE), "large"),
]
