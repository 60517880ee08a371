"""The shape of a row: a name, a group, a function that measures it, and for some rows a budget."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Callable, Union

from bench.measure import Sample
from bench.workplace import Workplace

# Without options, only the first group is run.
GROUPS = ("speed", "large", "more", "peers", "fidelity", "growth")
# If a step to ten times the size costs more than this, the growth is called worse than linear.
TENFOLD = 12.0


class Unfaithful(Exception):
    """The result of a measured command is wrong, so its time means nothing."""


@dataclass(frozen=True)
class Amount:
    """A median time in ms, or a size in MB. A size has neither p95 nor rounds."""

    value: float
    unit: str
    p95: float | None = None
    rounds: int | None = None

    def __str__(self) -> str:
        spread = "" if self.p95 is None else f" (p95 {self.p95:.1f}, n {self.rounds})"
        return f"{self.value:.1f} {self.unit}{spread}"


@dataclass(frozen=True)
class Outcome:
    """A ratio and its two amounts. `floor` is the best ratio that is possible, if it is known."""

    ratio: float
    ours: Amount
    other: Amount
    note: str = ""
    floor: float | None = None
    cpu: float | None = None  # the same ratio by processor time

    def as_data(self) -> dict[str, Any]:
        return {"kind": "ratio", **asdict(self)}


@dataclass(frozen=True)
class Contest:
    """One operation done by all tools. One that could not take part has a reason instead of an amount."""

    operation: str
    what: str
    amounts: dict[str, Amount]
    absent: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def as_data(self) -> dict[str, Any]:
        return {"kind": "contest", **asdict(self)}


@dataclass(frozen=True)
class Step:
    size: float
    amount: Amount


@dataclass(frozen=True)
class Curve:
    """One cost at growing sizes. Without a limit, it has no verdict."""

    name: str
    what: str
    of: str
    steps: tuple[Step, ...]
    limit: float | None = TENFOLD
    note: str = ""

    @property
    def factors(self) -> list[float]:
        """The cost at each size, divided by the cost at the size before."""
        values = [step.amount.value for step in self.steps]
        return [after / before for before, after in zip(values, values[1:])]

    @property
    def verdict(self) -> str:
        if self.limit is None:
            return "info"
        return "PASS" if all(factor <= self.limit for factor in self.factors) else "MISS"

    def as_data(self) -> dict[str, Any]:
        return {"kind": "curve", **asdict(self), "factors": self.factors, "verdict": self.verdict}


@dataclass(frozen=True)
class Checks:
    """What one tool restored of the torture tree: `yes`, `no`, or `fails` if it cannot even make a
    snapshot."""

    who: str
    version: str
    answers: dict[str, str]

    def as_data(self) -> dict[str, Any]:
        return {"kind": "checks", **asdict(self)}


Finding = Union[Outcome, Contest, Curve, Checks]
Runner = Callable[[Workplace], "Finding | list[Finding]"]


@dataclass(frozen=True)
class Row:
    """One measurement. Without a budget, it has no verdict."""

    name: str
    what: str
    budget: float | None
    run: Runner
    group: str = "speed"


def compare(ours: Sample, other: Sample, note: str = "", floor: Sample | None = None) -> Outcome:
    lowest = None if floor is None else floor.median / other.median
    cpu = median(ours.cpu) / median(other.cpu) if ours.cpu and any(other.cpu) else None
    return Outcome(ours.median / other.median, milliseconds(ours), milliseconds(other), note, lowest, cpu)


def milliseconds(sample: Sample) -> Amount:
    return Amount(sample.median, "ms", sample.p95, len(sample.values))


def megabytes(size: float) -> Amount:
    return Amount(size / 1e6, "MB")
