"""The result of a run as plain data: made from what rows found, merged from several runs, kept as JSON.

Text, tables and plots are made from this and from nothing else, so that they can be made again later."""

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
class Line:
    """What a row found, or the reason why it found nothing."""

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
        met = [_met(self.row, finding) for finding in self.findings]
        judged = [answer for answer in met if answer is not None]
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


def _met(row: Row, finding: Finding) -> bool | None:
    if isinstance(finding, Curve):
        return None if finding.limit is None else finding.verdict == "PASS"
    if isinstance(finding, Outcome) and row.budget is not None:
        return finding.ratio <= row.budget
    return None


def make_result(lines: list[Line], options: Options, machine: dict[str, Any]) -> Result:
    return {
        "format": FORMAT,
        "machine": machine,
        "quick": options.quick,
        "files": options.files[MAIN],
        "rounds": options.rounds,
        "rows": [line.as_data() for line in lines],
    }


def merge(old: Result, new: Result, order: list[str]) -> Result:
    """The new rows in place of the old ones of the same name; all else as the new run says."""
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
    """Each finding of a kind with the row that it belongs to."""
    return [(row, found) for row in result["rows"] for found in row["findings"] if found["kind"] == kind]


def ratios(result: Result) -> dict[str, float]:
    """The ratio of each row that has one, by its name."""
    return {row["name"]: found["ratio"] for row, found in findings(result, "ratio")}
