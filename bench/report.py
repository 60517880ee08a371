"""What a run found, as text (ratios first, then absolute amounts) or as JSON."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass

from bench.rows.row import Outcome, Row
from bench.workplace import Options

NOT_BUILT = "not built yet"


@dataclass(frozen=True)
class Line:
    """One row's result: an outcome, or the reason why there is none."""

    row: Row
    outcome: Outcome | None = None
    problem: str = ""

    @property
    def verdict(self) -> str:
        if self.problem:
            return "FAIL"
        if self.outcome is None:
            return NOT_BUILT
        if self.row.budget is None:
            return "info"
        return "PASS" if self.outcome.ratio <= self.row.budget else "MISS"


def as_text(lines: list[Line], options: Options) -> str:
    measured = [line for line in lines if line.outcome is not None]
    parts = [_heading(options), "", *map(_ratio, lines)]
    if measured:
        parts += ["", "Absolute: ours | the other", *map(_absolute, measured)]
    problems = [f"{line.row.name}: {line.problem}" for line in lines if line.problem]
    return "\n".join([*parts, *([""] if problems else []), *problems])


def as_json(lines: list[Line], options: Options) -> str:
    found = {
        "machine": {"system": platform.platform(), "cpus": os.cpu_count()},
        "quick": options.quick,
        "files": options.files,
        "rounds": options.rounds,
        "python": options.python,
        "rows": [_row_json(line) for line in lines],
    }
    return json.dumps(found, indent=2, ensure_ascii=False)


def _heading(options: Options) -> str:
    text = (
        f"{options.files} files, {options.rounds} rounds, {os.cpu_count()} CPUs, "
        f"{platform.system()} {platform.machine()}, {options.python}"
    )
    quick = "A quick run: its sizes are not those that the budgets are for."
    return f"{text}\n{quick}" if options.quick else text


def _ratio(line: Line) -> str:
    ratio = f"{line.outcome.ratio:.3f}" if line.outcome else "-"
    budget = f"≤ {line.row.budget}" if line.row.budget is not None else ""
    return f"{ratio:>8}  {budget:<7} {line.verdict:<14} {line.row.name:<12} {line.row.what}"


def _absolute(line: Line) -> str:
    assert line.outcome is not None
    note = f"  [{line.outcome.note}]" if line.outcome.note else ""
    return f"  {line.row.name:<12} {line.outcome.ours} | {line.outcome.other}{note}"


def _row_json(line: Line) -> dict[str, object]:
    found: dict[str, object] = {
        "name": line.row.name,
        "what": line.row.what,
        "budget": line.row.budget,
        "verdict": line.verdict,
    }
    if line.outcome is not None:
        found["ratio"] = line.outcome.ratio
        found["ours"] = asdict(line.outcome.ours)
        found["other"] = asdict(line.outcome.other)
        found["note"] = line.outcome.note
    if line.problem:
        found["problem"] = line.problem
    return found
