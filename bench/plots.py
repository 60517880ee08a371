"""A result as pictures: a bar for each ratio, the times of all tools side by side, and growth curves."""

from __future__ import annotations

import math
from typing import Any

from bench.peers.registry import OURS
from bench.result import Result, findings
from bench.svg import Drawing
from bench.tables import all_contests, short, size

WIDTH = 860.0
LINE = 22.0
# The bar of a larger ratio is cut off here. The figure beside it shows the ratio.
WIDEST = 3.0


def all_plots(result: Result) -> dict[str, str]:
    """SVG by file name, only of what was measured."""
    plots = {"bench-ratios.svg": ratios(result), "bench-peers.svg": everyone(result),
             "bench-growth.svg": growth(result)}
    return {name: svg for name, svg in plots.items() if svg}


def ratios(result: Result) -> str:
    rows = findings(result, "ratio")
    if not rows:
        return ""
    left, right, top = 400.0, WIDTH - 60, 74.0
    drawing = Drawing(WIDTH, top + LINE * len(rows) + 14, "What Rewind costs beside the others")
    drawing.text(16, 24, "Ours ÷ the other: shorter is better", "title")
    drawing.text(16, 42, "Upright mark: the budget. Orange: over it, or over 1 where there is none.", "faint")
    scale = (right - left) / WIDEST
    for value in (0, 0.5, 1, 1.5, 2, 2.5, 3):
        x = left + value * scale
        drawing.line(x, top - 4, x, top + LINE * len(rows), "guide" if value == 1 else "rule")
        drawing.text(x, top - 8, f"{value:g}", "faint middle")
    for number, (row, found) in enumerate(rows):
        y = top + LINE * number
        drawing.text(left - 10, y + 15, _fit(row["what"].replace("`", ""), 62), "end")
        drawing.bar(left, y + 5, min(found["ratio"], WIDEST) * scale, 12, _colour(row, found["ratio"]))
        if row["budget"] is not None:
            x = left + min(row["budget"], WIDEST) * scale
            drawing.line(x, y + 2, x, y + 20, "mark")
        end = max(min(found["ratio"], WIDEST), min(row["budget"] or 0, WIDEST))
        drawing.text(left + end * scale + 6, y + 15, short(found["ratio"]))
    return drawing.done()


def _colour(row: dict[str, Any], ratio: float) -> str:
    return "ours" if ratio <= (1.0 if row["budget"] is None else row["budget"]) else "bad"


def everyone(result: Result) -> str:
    """A panel for each operation. Times are on a logarithmic axis, because they differ a hundredfold."""
    contests = all_contests(result)
    if not contests:
        return ""
    pairs = [contests[at : at + 2] for at in range(0, len(contests), 2)]
    heights = [46 + LINE * max(len(found["amounts"]) for found in pair) for pair in pairs]
    drawing = Drawing(WIDTH, sum(heights) + 34, "Everyone at the same work")
    drawing.text(16, 24, "Everyone at the same work: shorter is better (logarithmic)", "title")
    y = 34.0
    for pair, height in zip(pairs, heights):
        for number, found in enumerate(pair):
            _panel(drawing, found, 16 + number * WIDTH / 2, y)
        y += height
    return drawing.done()


def _panel(drawing: Drawing, found: dict[str, Any], x: float, y: float) -> None:
    drawing.text(x, y + 22, found["what"], "title")
    ordered = sorted(found["amounts"].items(), key=lambda item: item[1]["value"])
    positive = [amount["value"] for _, amount in ordered if amount["value"] > 0]
    low = math.log10(min(positive, default=1)) - 0.3
    span = max(math.log10(max(positive, default=1)) - low, 0.3)
    for number, (name, amount) in enumerate(ordered):
        at = y + 32 + LINE * number
        value = math.log10(amount["value"]) - low if amount["value"] > 0 else 0.0
        width = 200 * value / span
        drawing.text(x + 84, at + 13, name, "end")
        drawing.bar(x + 92, at + 3, width, 12, "ours" if name == OURS else "other")
        drawing.text(x + 98 + width, at + 13, f"{short(amount['value'])} {amount['unit']}")


def growth(result: Result) -> str:
    """A panel for each quantity that grows. The dashed line is exactly linear growth."""
    panels: dict[tuple[str, str, bool], list[dict[str, Any]]] = {}
    curves = [found for _, found in findings(result, "curve")]
    for found in sorted(curves, key=lambda curve: curve["limit"] is None):
        key = (found["of"], found["steps"][0]["amount"]["unit"], found["limit"] is None)
        panels.setdefault(key, []).append(found)
    if not panels:
        return ""
    high, rows = 270.0, math.ceil(len(panels) / 2)
    drawing = Drawing(WIDTH, 40 + high * rows, "What ten times as much costs")
    drawing.text(16, 24, "Growth: both axes logarithmic; dashed is linear growth", "title")
    for number, panel in enumerate(panels.values()):
        _curves(drawing, panel, 16 + (number % 2) * WIDTH / 2, 40 + high * (number // 2))
    return drawing.done()


def _curves(drawing: Drawing, curves: list[dict[str, Any]], x: float, y: float) -> None:
    of, unit = curves[0]["of"], curves[0]["steps"][0]["amount"]["unit"]
    drawing.text(x, y + 16, f"{unit} by {of.replace('bytes', 'length')}", "title")
    left, right, top, bottom = x + 44, x + 370, y + 30, y + 180
    sizes = sorted({step["size"] for curve in curves for step in curve["steps"]})
    values = [step["amount"]["value"] for curve in curves for step in curve["steps"]]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)

    def at(size_: float, value: float) -> tuple[float, float]:
        across = (math.log10(size_) - math.log10(sizes[0])) / (math.log10(sizes[-1] / sizes[0]) or 1)
        up = (math.log10(value) - low) / (high - low)
        return left + across * (right - left), bottom - up * (bottom - top)

    for power in range(low, high + 1):
        line = at(sizes[0], 10.0**power)[1]
        drawing.line(left, line, right, line, "rule")
        drawing.text(left - 6, line + 4, f"{10.0**power:,g}", "faint end")
    for one in sizes:
        drawing.text(at(one, values[0])[0], bottom + 16, size(one, of), "faint middle")
    drawing.path(_linear(at, sizes, min(values), 10.0**high), "guide")
    for number, curve in enumerate(curves[:4]):
        points = [at(step["size"], step["amount"]["value"]) for step in curve["steps"]]
        drawing.path(points, f"line l{number}")
        for point in points:
            drawing.dot(*point, f"d{number}")
        drawing.dot(left + 4, bottom + 33 + 15 * number, f"d{number}")
        factors = ", ".join(f"{factor:.1f}×" for factor in curve["factors"])
        drawing.text(left + 14, bottom + 37 + 15 * number,
                     _fit(f"{curve['what'].replace('`', '')}: {factors}", 58), "faint")


def _linear(at: Any, sizes: list[float], start: float, highest: float) -> list[tuple[float, float]]:
    """A line from the lowest point to the edge of the panel."""
    end = min(sizes[-1], sizes[0] * highest / start)
    return [at(sizes[0], start), at(end, start * end / sizes[0])]


def _fit(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
