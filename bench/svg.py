"""Draws a few SVG shapes, in colours for the reader's light or dark scheme."""

from __future__ import annotations

from html import escape

# The colours of curves also differ in lightness, for readers who cannot tell the hues apart.
STYLE = """
svg { --ground: #ffffff; --ink: #1f2328; --faint: #57606a; --rule: #d0d7de;
      --ours: #0969da; --other: #afb8c1; --bad: #bc4c00;
      --s0: #0969da; --s1: #bc4c00; --s2: #1a7f37; --s3: #8250df; }
@media (prefers-color-scheme: dark) {
  svg { --ground: #0d1117; --ink: #e6edf3; --faint: #9198a1; --rule: #3d444d;
        --ours: #58a6ff; --other: #57606a; --bad: #f0883e;
        --s0: #58a6ff; --s1: #f0883e; --s2: #56d364; --s3: #bc8cff; } }
text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--ink); }
.faint { fill: var(--faint); font-size: 11px; } .title { font-weight: 600; }
.end { text-anchor: end; } .middle { text-anchor: middle; }
.rule { stroke: var(--rule); fill: none; } .mark { stroke: var(--ink); stroke-width: 1.5; }
.guide { stroke: var(--faint); fill: none; stroke-dasharray: 4 3; }
.ours { fill: var(--ours); } .other { fill: var(--other); } .bad { fill: var(--bad); }
.line { fill: none; stroke-width: 2; }
.l0 { stroke: var(--s0); } .l1 { stroke: var(--s1); } .l2 { stroke: var(--s2); } .l3 { stroke: var(--s3); }
.d0 { fill: var(--s0); } .d1 { fill: var(--s1); } .d2 { fill: var(--s2); } .d3 { fill: var(--s3); }
"""


class Drawing:
    """Shapes on a background, drawn in the order in which they are added."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img" aria-label="{escape(title)}">',
            f"<title>{escape(title)}</title><style>{STYLE}</style>",
            f'<rect width="{width:g}" height="{height:g}" rx="6" style="fill: var(--ground)"/>',
        ]

    def text(self, x: float, y: float, text: str, style: str = "") -> None:
        self._parts.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{style}">{escape(text)}</text>')

    def bar(self, x: float, y: float, width: float, height: float, style: str) -> None:
        self._parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}" '
                           f'rx="1.5" class="{style}"/>')

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        self._parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{style}"/>')

    def path(self, points: list[tuple[float, float]], style: str) -> None:
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(f'<polyline points="{joined}" class="{style}"/>')

    def dot(self, x: float, y: float, style: str) -> None:
        self._parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" class="{style}"/>')

    def done(self) -> str:
        return "\n".join([*self._parts, "</svg>", ""])
