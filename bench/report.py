"""A result as text for the terminal: ratios first, then all tools side by side, growth, amounts."""

from __future__ import annotations

from typing import Any

from bench.machine import sentence
from bench.result import Result, findings
from bench.tables import Table, contest_table, fidelity_table, growth_table, number

QUICK = "A quick run: its sizes are not those that the budgets are for."


def as_text(result: Result) -> str:
    parts = [_heading(result)]
    for title, lines in (
        ("Ratios: ours ÷ the other", [_ratio(row) for row in result["rows"] if _is_ratio(row)]),
        ("Everyone: median, and (how many times ours)", _aligned(contest_table(result))),
        ("Brought back", _aligned(fidelity_table(result))),
        ("Growth: what each step costs", _aligned(growth_table(result))),
        ("Absolute: ours | the other", [_absolute(*pair) for pair in findings(result, "ratio")]),
        ("Not measured", [f"  {row['name']}: {_reason(row)}" for row in result["rows"] if _reason(row)]),
    ):
        if lines:
            parts += ["", title, *lines]
    return "\n".join(parts)


def _is_ratio(row: dict[str, Any]) -> bool:
    return row["group"] in ("speed", "large", "more")


def _reason(row: dict[str, Any]) -> str:
    return f"{row['verdict']}: {row['problem'] or row['skipped']}" if row["problem"] or row["skipped"] else ""


def _heading(result: Result) -> str:
    text = f"{result['files']} files, {result['rounds']} rounds. {sentence(result['machine'])}"
    return f"{text}\n{QUICK}" if result["quick"] else text


def _ratio(row: dict[str, Any]) -> str:
    ratio = next((f"{found['ratio']:.3f}" for found in row["findings"] if found["kind"] == "ratio"), "-")
    budget = f"≤ {row['budget']}" if row["budget"] is not None else ""
    floor = next((found["floor"] for found in row["findings"] if found.get("floor")), None)
    lowest = f" (floor {floor:.2f})" if floor and row["verdict"] == "MISS" else ""
    return f"{ratio:>8}  {budget:<7} {row['verdict']:<5} {row['name']:<19} {row['what']}{lowest}"


def _absolute(row: dict[str, Any], found: dict[str, Any]) -> str:
    cpu = f"by processor time {found['cpu']:.2f}" if found["cpu"] else ""
    said = "; ".join(text for text in (cpu, found["note"]) if text)
    note = f"  [{said}]" if said else ""
    return f"  {row['name']:<19} {number(found['ours'])} | {number(found['other'])}{note}"


def _aligned(table: Table) -> list[str]:
    if not table.rows:
        return []
    rows = [table.head, *table.rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.head))]
    lines = ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return [*lines, *(f"  {note}" for note in table.notes)]
