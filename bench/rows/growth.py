"""What every growth row shares: the same commands at several sizes, interleaved, as one curve each."""

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
    """`commands` names each command and says what it is; `at` holds the same ones for every size."""
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
