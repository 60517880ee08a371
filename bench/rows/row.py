"""The shape of a row: a name, a budget, and a function that measures it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from bench.measure import Sample
from bench.workplace import Workplace


class Unfaithful(Exception):
    """A result was fast and wrong, which is worth nothing."""


@dataclass(frozen=True)
class Amount:
    """A median time in ms, or a size in MB (which has neither p95 nor rounds)."""

    value: float
    unit: str
    p95: float | None = None
    rounds: int | None = None

    def __str__(self) -> str:
        spread = "" if self.p95 is None else f" (p95 {self.p95:.1f}, n {self.rounds})"
        return f"{self.value:.1f} {self.unit}{spread}"


@dataclass(frozen=True)
class Outcome:
    """A ratio and what it was made from."""

    ratio: float
    ours: Amount
    other: Amount
    note: str = ""


Runner = Callable[[Workplace], Outcome]


@dataclass(frozen=True)
class Row:
    """`run` is None while its command is not built; without a budget it only informs."""

    name: str
    what: str
    budget: float | None
    run: Runner | None


def compare(ours: Sample, other: Sample, note: str = "") -> Outcome:
    return Outcome(ours.median / other.median, milliseconds(ours), milliseconds(other), note)


def milliseconds(sample: Sample) -> Amount:
    return Amount(sample.median, "ms", sample.p95, len(sample.values))


def megabytes(size: float) -> Amount:
    return Amount(size / 1e6, "MB")
