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
class Times:
    """Of one run, in milliseconds."""

    took: float
    cpu: float
    whole: float


@dataclass(frozen=True)
class Sample:
    """Milliseconds of one contender, a value per round; `cpu` is the processor time of its processes, which
    other work on the machine changes less. `whole` is the time until those had ended that went on alone."""

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
    """Times the contenders round by round, so that a slow minute hits all of them alike.

    `before` prepares a round, `ready` one contender's turn, and `after` checks its result; none is timed.
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
    """What the action returns, if anything, waits for the processes that go on alone. Whoever started them
    does not wait for them, but the next contender must not run beside them."""
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
    """Lets edits age past the racy window and writes reach the disk, for both sides alike."""
    if seconds > 0:
        os.sync()
        time.sleep(seconds)
