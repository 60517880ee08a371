"""Where a change that could be placed higher or lower is most readable, by git's indent heuristic."""

from __future__ import annotations

from collections.abc import Sequence

_MOST_INDENT, _MOST_BLANKS, _MOST_SLIDING = 200, 20, 100


def best_end(lines: Sequence[bytes], highest: int, lowest: int, size: int) -> int:
    """The end of a block of changed lines at which the cuts at both of its ends are best."""
    first = max(highest, lowest - size - 1, lowest - _MOST_SLIDING)
    best, found = (0, 0), -1
    for end in range(first, lowest + 1):
        one, other = _badness(lines, end), _badness(lines, end - size)
        score = (one[0] + other[0], one[1] + other[1])
        if found < 0 or _compare(score, best) <= 0:
            best, found = score, end
    return found


def _compare(one: tuple[int, int], other: tuple[int, int]) -> int:
    return 60 * ((one[0] > other[0]) - (one[0] < other[0])) + one[1] - other[1]


def _badness(lines: Sequence[bytes], at: int) -> tuple[int, int]:
    """(indent, penalty) of a cut above line `at`."""
    indent = _indent(lines[at]) if at < len(lines) else -1
    before, blanks_before = _next_text(lines, range(at - 1, -1, -1))
    after, blanks_after = _next_text(lines, range(at + 1, len(lines)))
    penalty = 1 if before == -1 and not blanks_before else 0
    penalty += 21 if at >= len(lines) else 0
    following = 1 + blanks_after if indent == -1 else 0
    blanks = blanks_before + following
    penalty += 6 * following - 30 * blanks
    indent = after if indent == -1 else indent
    if indent != -1 and before != -1:
        if indent > before:
            penalty += 10 if blanks else -4
        elif indent < before:
            opens = after > indent
            penalty += 17 if blanks else 24 if opens else 23
    return indent, penalty


def _next_text(lines: Sequence[bytes], order: range) -> tuple[int, int]:
    """The indent of the next line that is not blank (-1: there is none), and the number of blank lines before
    it."""
    blanks = 0
    for at in order:
        indent = _indent(lines[at])
        if indent != -1:
            return indent, blanks
        blanks += 1
        if blanks == _MOST_BLANKS:
            return 0, blanks
    return -1, blanks


def _indent(line: bytes) -> int:
    """Columns of white space; -1 for a blank line."""
    found = 0
    for byte in line:
        if byte == 0x20:
            found += 1
        elif byte == 0x09:
            found += 8 - found % 8
        elif byte not in b"\n\r":
            return found
        if found >= _MOST_INDENT:
            return _MOST_INDENT
    return -1
