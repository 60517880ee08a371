"""Puts a result into docs/benchmarks.md. The text between two markers is generated; the rest is written by
hand."""

from __future__ import annotations

import re
from pathlib import Path

from bench.machine import sentence
from bench.plots import all_plots
from bench.report import QUICK
from bench.result import Result
from bench.rows.registry import ROWS
from bench.tables import (
    Table,
    contest_table,
    fidelity_table,
    growth_table,
    losses,
    ratio_table,
    version_table,
)

PAGE = "benchmarks.md"
IMAGES = "images"
NOTHING = "*Not measured yet.*"


def write(result: Result, docs: Path) -> list[Path]:
    """Update the page and draw its plots. Returns the files that were written."""
    page = docs / PAGE
    plots = all_plots(result)
    (docs / IMAGES).mkdir(exist_ok=True)
    for name, svg in plots.items():
        (docs / IMAGES / name).write_text(svg, encoding="utf-8")
    page.write_text(fill(page.read_text(encoding="utf-8"), sections(result, set(plots))), encoding="utf-8")
    return [page, *(docs / IMAGES / name for name in plots)]


def sections(result: Result, plots: set[str]) -> dict[str, str]:
    return {
        "machine": _machine(result),
        "ratios": _joined(_plot("bench-ratios.svg", "Ratios as bars", plots), markdown(ratio_table(result))),
        "peers": _joined(_plot("bench-peers.svg", "Times of all tools as bars", plots),
                         markdown(contest_table(result))),
        "fidelity": markdown(fidelity_table(result)),
        "versions": markdown(version_table(result)),
        "growth": _joined(_plot("bench-growth.svg", "Growth as curves", plots),
                          markdown(growth_table(result))),
        "losses": _losses(result),
        "problems": _problems(result),
    }


def fill(text: str, parts: dict[str, str]) -> str:
    """The page with each part replaced between its markers. A part without markers is an error."""
    for name, part in parts.items():
        begin, end = f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)
        if not pattern.search(text):
            raise SystemExit(f"error: the page has no {begin} … {end}.")
        text = pattern.sub(lambda _, new=f"{begin}\n{part}\n{end}": new, text)  # type: ignore[misc]
    return text


def markdown(table: Table) -> str:
    if not table.rows:
        return NOTHING
    lines = [_line(table.head), _line(["---"] * len(table.head)), *map(_line, table.rows)]
    notes = [f"- {note}" for note in table.notes]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _plot(name: str, words: str, plots: set[str]) -> str:
    return f"![{words}]({IMAGES}/{name})" if name in plots else ""


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _machine(result: Result) -> str:
    sizes = f"{result['files']:,} files and {result['rounds']} rounds where nothing else is said."
    return f"{sentence(result['machine'])}. {sizes}" + (f" **{QUICK}**" if result["quick"] else "")


def _losses(result: Result) -> str:
    if not result["rows"]:
        return NOTHING
    found = losses(result)
    return "\n".join(f"- {text}" for text in found) if found else "Nowhere in this run."


def _problems(result: Result) -> str:
    found = [f"- {row['verdict']} `{row['name']}`: {row['problem'] or row['skipped']}"
             for row in result["rows"] if row["problem"] or row["skipped"]]
    there = {row["name"] for row in result["rows"]}
    left_out = [f"`{row.name}` ({row.what})" for row in ROWS if row.name not in there]
    if result["rows"] and left_out:
        found.append(f"- not run: {'; '.join(left_out)}")
    return "\n".join(found) if found else "Everything was measured."
