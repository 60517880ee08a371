"""Two texts compared line by line, in colours and with the changed words highlighted.

A row is [kind, number before, number after, HTML]; the kinds are `same`, `del`, `add` and `gap`.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Any

from rewind.web.render.colours import Line, coloured, lexer_for, line_html

Block = tuple[int, int, int, int]  # lines from, to before; from, to after
Row = list[Any]

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_WHOLE = 3000  # lines; up to this length the whole file is sent, and the page folds it
_AROUND = 12
_LONGEST_LINE = 2000  # characters; words are not compared in longer lines


def blocks_of(old: list[str], new: list[str]) -> list[Block]:
    """The blocks that differ in short texts, such as those of a tool call."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [(a, b, c, d) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal"]


def rows_of(old: str, new: str, blocks: list[Block], path: str) -> list[Row]:
    lexer = lexer_for("", path)
    before, after = coloured(old, lexer), coloured(new, lexer)
    rows: list[Row] = []
    at = there = 0
    for start, end, low, high in blocks:
        rows += [["same", at + n + 1, there + n + 1, line_html(after[there + n])] for n in range(start - at)
                 if there + n < len(after)]
        rows += _changed(before, after, (start, end, low, high))
        at, there = end, high
    rest = max(0, _lines(old) - at)
    rows += [["same", at + n + 1, there + n + 1, line_html(after[there + n])] for n in range(rest)
             if there + n < len(after)]
    return rows if len(rows) <= _WHOLE else _near_changes(rows)


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _changed(before: list[Line], after: list[Line], block: Block) -> list[Row]:
    start, end, low, high = block
    pairs = {}
    if end - start == high - low:
        pairs = {n: _words(_text(before[start + n]), _text(after[low + n])) for n in range(end - start)}
    gone = [["del", start + n + 1, None, line_html(before[start + n], pairs.get(n, ([], []))[0])]
            for n in range(end - start)]
    come = [["add", None, low + n + 1, line_html(after[low + n], pairs.get(n, ([], []))[1])]
            for n in range(high - low)]
    return gone + come


def _text(line: Line) -> str:
    return "".join(text for _, text in line)


def _words(old: str, new: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Which characters of two lines differ, by words; none if the lines have little in common."""
    if max(len(old), len(new)) > _LONGEST_LINE:
        return [], []
    a, b = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.ratio() < 0.4:
        return [], []
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    return ([_span(a, low, high) for _, low, high, _, _ in changed if low < high],
            [_span(b, low, high) for _, _, _, low, high in changed if low < high])


def _span(words: list[str], low: int, high: int) -> tuple[int, int]:
    start = sum(map(len, words[:low]))
    return start, start + sum(map(len, words[low:high]))


def _near_changes(rows: list[Row]) -> list[Row]:
    """The changes in a long file, with some lines around them."""
    wanted: set[int] = set()
    for number, row in enumerate(rows):
        if row[0] != "same":
            wanted.update(range(number - _AROUND, number + _AROUND + 1))
    found: list[Row] = []
    for number, row in enumerate(rows):
        if number in wanted:
            found.append(row)
        elif not found or found[-1][0] != "gap":
            found.append(["gap", None, None, ""])
        if len(found) > 4 * _WHOLE:
            return [*found, ["gap", None, None, ""]]
    return found
