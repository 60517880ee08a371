"""A result as tables of text, which the terminal and the documentation show in different formats."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bench.peers.registry import FLOOR, OURS
from bench.result import Result, findings
from bench.torture import PROPERTIES


@dataclass(frozen=True)
class Table:
    head: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)


def number(amount: dict[str, Any]) -> str:
    """`12.3 ms (p95 14.0, n 20)`."""
    spread = "" if amount["p95"] is None else f" (p95 {short(amount['p95'])}, n {amount['rounds']})"
    return f"{short(amount['value'])} {amount['unit']}{spread}"


def short(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def size(value: float, of: str) -> str:
    return f"{value / 1e6:g} MB" if "bytes" in of else f"{value:,.0f}"


def ratio_table(result: Result) -> Table:
    """The floor is shown if a budget is missed, and the older ratio if an older result is given."""
    before: dict[str, float] = result.get("before", {})
    rows = []
    for row, found in findings(result, "ratio"):
        budget = "" if row["budget"] is None else f"≤ {row['budget']:g}"
        verdict = row["verdict"] if row["budget"] is not None else ""
        floor = _ratio(found["floor"]) if verdict == "MISS" else ""
        older = [_ratio(before.get(row["name"]))] if before else []
        rows.append([row["what"], *older, _ratio(found["ratio"]), budget, verdict, floor,
                     number(found["ours"]), number(found["other"])])
    notes = [f"{row['what']}: {found['note']}" for row, found in findings(result, "ratio") if found["note"]]
    head = ["what", *(["before"] if before else []), "ratio", "budget", "", "floor", "ours", "the other"]
    return Table(head, rows, notes)


def _ratio(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def contest_table(result: Result) -> Table:
    """A row for each tool and a column for each operation: the time, and the factor to ours."""
    contests = all_contests(result)
    names = _ordered(name for found in contests for name in [*found["amounts"], *found["absent"]])
    rows = [[name, *(_against(found, name) for found in contests)] for name in names]
    reasons = {name: why for found in contests for name, why in found["absent"].items()}
    notes = [f"{name} is missing: {why}" for name, why in reasons.items()]
    return Table(["", *(found["what"] for found in contests)], rows, notes)


def all_contests(result: Result) -> list[dict[str, Any]]:
    """Times before sizes."""
    contests = [found for _, found in findings(result, "contest")]
    return sorted(contests, key=_is_size)


def _is_size(contest: dict[str, Any]) -> bool:
    return any(amount["unit"] == "MB" for amount in contest["amounts"].values())


def _against(found: dict[str, Any], name: str) -> str:
    if name not in found["amounts"]:
        return "–"
    amount = found["amounts"][name]
    text = f"{short(amount['value'])} {amount['unit']}"
    if name == OURS or OURS not in found["amounts"] or found["amounts"][OURS]["value"] <= 0:
        return text
    return f"{text} ({amount['value'] / found['amounts'][OURS]['value']:.1f}×)"


def fidelity_table(result: Result) -> Table:
    """A row for each property and a column for each tool. The last row counts what each tool restored."""
    checks = [found for _, found in findings(result, "checks")]
    asked = [prop for prop in PROPERTIES if any(prop.name in found["answers"] for found in checks)]
    rows = [[prop.what, *(found["answers"].get(prop.name, "–") for found in checks)] for prop in asked]
    if checks:
        counts = [list(found["answers"].values()).count("yes") for found in checks]
        rows.append([f"of {len(asked)}", *map(str, counts)])
    notes = [f"{row['name'].replace('fidelity-', '')} is missing: {row['skipped']}"
             for row in result["rows"] if row["group"] == "fidelity" and row["skipped"]]
    return Table(["", *(found["who"] for found in checks)], rows, notes)


def version_table(result: Result) -> Table:
    found = {who: version for _, contest in findings(result, "contest")
             for who, version in contest["versions"].items()}
    found.update({checks["who"]: checks["version"] for _, checks in findings(result, "checks")})
    return Table(["tool", "version"], [[who, found[who]] for who in _ordered(found)])


def growth_table(result: Result) -> Table:
    rows = []
    for _, found in findings(result, "curve"):
        steps = " → ".join(size(step["size"], found["of"]) for step in found["steps"])
        amounts = [step["amount"] for step in found["steps"]]
        costs = " → ".join(f"{short(amount['value'])} {amount['unit']}" for amount in amounts)
        factors = ", ".join(f"{factor:.2f}×" for factor in found["factors"])
        limit = "" if found["limit"] is None else f"≤ {found['limit']:g}"
        verdict = "" if found["limit"] is None else found["verdict"]
        of = found["of"].replace("bytes", "length")
        rows.append([found["what"], of, steps, costs, factors, limit, verdict, found["note"]])
    return Table(["what", "of", "sizes", "cost", "each step", "limit", "", "note"], rows)


def losses(result: Result) -> list[str]:
    """Each row in which Rewind missed its budget, or was slower or larger than another tool."""
    found = [f"{row['what']}: {_ratio_of(row):.2f}, the budget is {row['budget']}"
             for row in result["rows"] if row["verdict"] == "MISS" and row["budget"] is not None]
    found += [f"{curve['what']}: {', '.join(f'{factor:.1f}×' for factor in curve['factors'])} a step"
              for _, curve in findings(result, "curve") if curve["verdict"] == "MISS"]
    found += [f"{row['what']}: {ratio['ratio']:.2f}" for row, ratio in findings(result, "ratio")
              if row["budget"] is None and ratio["ratio"] > 1]
    found += [text for contest in all_contests(result) for text in _beaten(contest)]
    return found + [f"brought back, but not by Rewind: {text}" for text in _not_ours(result)]


def _ratio_of(row: dict[str, Any]) -> float:
    return next(float(found["ratio"]) for found in row["findings"] if found["kind"] == "ratio")


def _beaten(contest: dict[str, Any]) -> list[str]:
    amounts = contest["amounts"]
    if OURS not in amounts:
        return []
    ours = amounts[OURS]
    better = [f"{name} {short(amount['value'])}" for name, amount in amounts.items()
              if amount["value"] < ours["value"] and name != FLOOR]
    if not better:
        return []
    return [f"{contest['what']}: ours {short(ours['value'])} {ours['unit']}, {', '.join(better)}"]


def _not_ours(result: Result) -> list[str]:
    answers = {found["who"]: found["answers"] for _, found in findings(result, "checks")}
    ours = answers.pop(OURS, {})
    others = {name for one in answers.values() for name, answer in one.items() if answer == "yes"}
    return [prop.what for prop in PROPERTIES if prop.name in others and ours.get(prop.name, "yes") != "yes"]


def _ordered(names: Any) -> list[str]:
    """In the order of their first occurrence, but ours first."""
    found = list(dict.fromkeys(names))
    return sorted(found, key=lambda name: name != OURS)
