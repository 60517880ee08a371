"""Interleaved timing: each round runs every contender once, in alternating order."""

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
class Times:
    """The times of one run in milliseconds; see `Sample`."""

    took: float
    cpu: float
    whole: float


@dataclass(frozen=True)
class Sample:
    """Milliseconds of one contender, one value per round. `cpu` is the processor time of its processes, which
    other work on the machine changes less. `whole` also includes the time of processes in the background."""

    values: tuple[float, ...]
    cpu: tuple[float, ...] = ()
    whole: tuple[float, ...] = ()

    @classmethod
    def of(cls, taken: list[Times]) -> Sample:
        return cls(tuple(one.took for one in taken), tuple(one.cpu for one in taken),
                   tuple(one.whole for one in taken))

    @property
    def until_the_end(self) -> Sample:
        return Sample(self.whole, self.cpu)

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
    """Time the contenders round by round, so that a slow minute affects all of them alike.

    `before` prepares a round, `ready` prepares one contender's turn, and `after` checks its result. None of
    these is timed.
    """
    taken: dict[str, list[Times]] = {name: [] for name in contenders}
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
    return {name: Sample.of(times) for name, times in taken.items()}


def timed(action: Action) -> Times:
    """An action may return a function that waits for its processes in the background. A user would not wait
    for these, but the next contender must not run at the same time."""
    before, start = _processor(), time.perf_counter()
    rest = action()
    took = time.perf_counter() - start
    if callable(rest):
        rest()
    whole = time.perf_counter() - start
    return Times(took * 1000, (_processor() - before) * 1000, whole * 1000)


def _processor() -> float:
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def settle(seconds: float) -> None:
    """Wait until edits are older than the racy window and writes are on the disk, for all sides alike."""
    if seconds > 0:
        os.sync()
        time.sleep(seconds)
