"""Measures the same commands at several sizes, interleaved. Each command gives one curve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Callable

from bench.measure import Action, Sample, interleave
from bench.rows.row import Curve, Step, milliseconds


def curves(
    of: str,
    commands: Mapping[str, str],
    at: Mapping[int, Mapping[str, Action]],
    rounds: int,
    before: Action | None = None,
    after: Callable[[int, str], object] | None = None,
) -> list[Curve]:
    """`commands` has a description of each command by its name, `at` the same commands for every size."""
    found = []
    for name, what in commands.items():
        taken = interleave(
            {str(size): actions[name] for size, actions in at.items()},
            rounds,
            before=before,
            after=None if after is None else _bound(after, name),
        )
        found.append(_curve(of, name, what, taken))
    return found


def _bound(after: Callable[[int, str], object], name: str) -> Callable[[str], object]:
    return lambda size: after(int(size), name)


def _curve(of: str, name: str, what: str, taken: dict[str, Sample]) -> Curve:
    steps = tuple(Step(int(size), milliseconds(sample)) for size, sample in taken.items())
    return Curve(f"{of}-{name}", what, of, steps)
