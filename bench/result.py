"""The result of a run as plain data. Results of several runs can be merged, and they are saved as JSON.

Text, tables and plots are made only from this, so that they can be made again later."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.rows.row import Curve, Finding, Outcome, Row
from bench.workplace import MAIN, Options

FORMAT = 3
Result = dict[str, Any]


@dataclass(frozen=True)
class RowResult:
    """The findings of a row, or the reason why it has none."""

    row: Row
    findings: list[Finding] = field(default_factory=list)
    problem: str = ""
    skipped: str = ""
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        if self.problem:
            return "FAIL"
        if self.skipped:
            return "SKIP"
        answers = [_within_budget(self.row, finding) for finding in self.findings]
        judged = [answer for answer in answers if answer is not None]
        if not judged:
            return "info"
        return "PASS" if all(judged) else "MISS"

    def as_data(self) -> dict[str, Any]:
        return {
            "name": self.row.name,
            "group": self.row.group,
            "what": self.row.what,
            "budget": self.row.budget,
            "verdict": self.verdict,
            "seconds": round(self.seconds, 1),
            "problem": self.problem,
            "skipped": self.skipped,
            "findings": [finding.as_data() for finding in self.findings],
        }


def _within_budget(row: Row, finding: Finding) -> bool | None:
    """None if the finding has no budget."""
    if isinstance(finding, Curve):
        return None if finding.limit is None else finding.verdict == "PASS"
    if isinstance(finding, Outcome) and row.budget is not None:
        return finding.ratio <= row.budget
    return None


def make_result(rows: list[RowResult], options: Options, machine: dict[str, Any]) -> Result:
    return {
        "format": FORMAT,
        "machine": machine,
        "quick": options.quick,
        "files": options.files[MAIN],
        "rounds": options.rounds,
        "rows": [row.as_data() for row in rows],
    }


def merge(old: Result, new: Result, order: list[str]) -> Result:
    """Replace the old rows that the new run measured again. Everything else is as in the new run."""
    rows = {row["name"]: row for row in [*old["rows"], *new["rows"]]}
    known = [rows[name] for name in order if name in rows]
    return {**new, "quick": old["quick"] or new["quick"], "rounds": max(old["rounds"], new["rounds"]),
            "rows": known}


def load(path: Path) -> Result:
    data = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise SystemExit(f"error: {path} is not a result of this benchmark, format {FORMAT}.")
    return data


def save(result: Result, path: Path) -> None:
    path.write_text(as_json(result) + "\n", encoding="utf-8")


def as_json(result: Result) -> str:
    return json.dumps(result, indent=1, ensure_ascii=False)


def findings(result: Result, kind: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each finding of a kind, after its row."""
    return [(row, found) for row in result["rows"] for found in row["findings"] if found["kind"] == kind]


def ratios(result: Result) -> dict[str, float]:
    """The ratio of each row that has one, by its name."""
    return {row["name"]: found["ratio"] for row, found in findings(result, "ratio")}
