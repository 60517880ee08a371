"""Interleaved timing: every contender runs once per round, in alternating order."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from resource import RUSAGE_CHILDREN, getrusage
from typing import Callable

Action = Callable[[], object]


@dataclass(frozen=True)
class Sample:
    """Milliseconds of one contender, a value per round; `cpu` is the processor time of its processes, which
    other work on the machine changes less."""

    values: tuple[float, ...]
    cpu: tuple[float, ...] = ()

    @classmethod
    def of(cls, pairs: list[tuple[float, float]]) -> Sample:
        return cls(tuple(took for took, _ in pairs), tuple(used for _, used in pairs))

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def p95(self) -> float:
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]


def interleave(
    contenders: Mapping[str, Action],
    rounds: int,
    before: Action | None = None,
    after: Callable[[str], object] | None = None,
    ready: Callable[[str], object] | None = None,
) -> dict[str, Sample]:
    """Times the contenders round by round, so that a slow minute hits all of them alike.

    `before` prepares a round, `ready` one contender's turn, and `after` checks its result; none is timed.
    """
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for number in range(rounds):
        if before is not None:
            before()
        names = list(contenders)
        for name in names if number % 2 == 0 else reversed(names):
            if ready is not None:
                ready(name)
            taken[name].append(timed(contenders[name]))
            if after is not None:
                after(name)
    return {name: Sample.of(pairs) for name, pairs in taken.items()}


def timed(action: Action) -> tuple[float, float]:
    """How long it took, and what its processes used of the processor, both in ms."""
    before, start = _processor(), time.perf_counter()
    action()
    took = time.perf_counter() - start
    return took * 1000, (_processor() - before) * 1000


def _processor() -> float:
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def settle(seconds: float) -> None:
    """Lets edits age past the racy window and writes reach the disk, for both sides alike."""
    if seconds > 0:
        os.sync()
        time.sleep(seconds)
