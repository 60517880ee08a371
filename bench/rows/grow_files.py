"""Ten times as many files: the time and the memory of a checkpoint in which nothing changed."""

from __future__ import annotations

import statistics

from bench.measure import settle
from bench.memory import peak_bytes
from bench.ours import Rewind
from bench.rows.growth import curves
from bench.rows.row import Curve, Finding, Row, Step, megabytes
from bench.workplace import Workplace, say

RUNS = 3


def _files(place: Workplace) -> list[Finding]:
    sizes = place.options.grow.files
    projects = {files: place.scaled(files) for files in sizes}
    first = {files: _first(place, rewind) for files, rewind in projects.items()}
    for _ in range(2):
        settle(place.options.settle)
        for rewind in projects.values():
            rewind.save()
    settle(place.options.settle)
    at = {files: {"save": rewind.save} for files, rewind in projects.items()}
    found = curves("files", {"save": "`rewind save`, nothing changed"}, at, place.options.rounds)
    peaks = {files: statistics.median(_peak(place, rewind, "save", "bench") for _ in range(RUNS))
             for files, rewind in projects.items()}
    return [*found, _memory("memory", "`rewind save`, nothing changed: peak memory", peaks),
            _memory("first-memory", "`rewind init`: peak memory", first)]


def _first(place: Workplace, rewind: Rewind) -> int:
    if rewind.state.exists():  # another row was here before
        rewind.remove()
    say("a first checkpoint, for its memory")
    peak = _peak(place, rewind, "init")
    rewind.rest(place.options.settle)
    return peak


def _peak(place: Workplace, rewind: Rewind, *arguments: str) -> int:
    command = [*rewind.command(*arguments), "-C", str(rewind.project)]
    return peak_bytes(place.spawner, place.options.python, command)


def _memory(name: str, what: str, peaks: dict[int, float] | dict[int, int]) -> Curve:
    steps = tuple(Step(files, megabytes(peak)) for files, peak in peaks.items())
    (small, low), (large, high) = min(peaks.items()), max(peaks.items())
    return Curve(f"files-{name}", what, "files", steps,
                 note=f"{(high - low) / (large - small):.0f} bytes for each file more")


ROWS = [Row("growth-files", "time and memory of a checkpoint of ten times as many files", None,
            _files, "growth")]
