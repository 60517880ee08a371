"""Branches as a small graph beside a list, newest first: `●` is the row, `│` a branch that passes by."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence, Set
    from typing import Any

NODE, PASS, NONE = "●", "│", " "
_WIDEST = 6


def lanes(rows: Sequence[tuple[Hashable, Hashable | None] | None]) -> list[str]:
    """The piece of the graph for each row (itself, its parent). A row that is None is not part of the graph.
    All texts are empty if nothing branches."""
    waiting: list[Hashable | None] = []  # the row that each lane leads to
    pieces = []
    for row in rows:
        if row is None:
            pieces.append([PASS if lane is not None else NONE for lane in waiting])
            continue
        own, parent = row
        ends = [at for at, lane in enumerate(waiting) if lane == own]
        at = ends[0] if ends else _free(waiting)
        pieces.append(_drawn(waiting, at, ends[1:]))
        for end in ends:
            waiting[end] = None
        waiting[at] = parent
        while waiting and waiting[-1] is None:
            waiting.pop()
    widest = max((len(piece) for piece in pieces), default=0)
    if widest < 2:
        return [""] * len(pieces)
    texts: dict[str, str] = {}  # there are few different ones
    for piece in pieces:
        key = "".join(piece)
        if key not in texts:
            texts[key] = _text(piece, min(widest, _WIDEST))
    return [texts["".join(piece)] for piece in pieces]


def nearest_shown(row: Any, shown: Set[int]) -> int | None:
    """The id of a row, or of the nearest row that it came from, which is among those that are shown."""
    while row is not None and id(row) not in shown:
        row = row.parent
    return None if row is None else id(row)


def _free(waiting: list[Hashable | None]) -> int:
    if None in waiting:
        return waiting.index(None)
    waiting.append(None)
    return len(waiting) - 1


def _drawn(waiting: list[Hashable | None], at: int, joining: list[int]) -> list[str]:
    """The marks of a row. Lanes that end in it are drawn as `●─╯`."""
    piece = [PASS if lane is not None else NONE for lane in waiting]
    piece[at] = NODE
    last = max(joining, default=at)
    for place in range(at + 1, last + 1):
        piece[place] = "╯" if place == last else "┴" if place in joining else (
            "┼" if piece[place] == PASS else "─")
    return piece


def _text(piece: list[str], width: int) -> str:
    text = ""
    for at, mark in enumerate(piece[:width]):
        joined = at and mark in "╯┴┼─"
        text += (("─" if joined else " ") if at else "") + mark
    return (text[:-1] + "…" if len(piece) > width else text).ljust(2 * width - 1)
