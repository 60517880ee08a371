"""Text in the columns of a terminal: how wide it is, and as much of it as fits."""

from __future__ import annotations

import os
import sys

# Signs that Rewind prints. They are known here so that most lists need not load the Unicode tables.
_NARROW = frozenset("●│─╯┴┼◀✎◆◇↶…−★·“”‘’–—")


def terminal_width() -> int:
    """As `shutil.get_terminal_size` does it; `shutil` would load compressors."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1).columns or 80
    except (OSError, ValueError):
        return 80


def line_room() -> int:
    """The columns of one line on a terminal; in a pipe nothing is cut."""
    return terminal_width() - 1 if sys.stdout.isatty() else sys.maxsize


def cells(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    odd = [char for char in text if not (char < "\u0300" or char in _NARROW)]
    return len(text) - len(odd) + (_wide_cells(odd) if odd else 0)


def _wide_cells(chars: list[str]) -> int:
    import unicodedata

    return sum(0 if unicodedata.combining(char) else
               2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in chars)


def cut(text: str, room: int) -> str:
    """The beginning of a long text."""
    if cells(text) <= room:
        return text
    text = text[:max(0, room)]
    while text and cells(text) > room - 1:
        text = text[:-1]
    return text.rstrip() + "…"


def cut_quote(text: str, room: int) -> str:
    """A long sentence with a quotation: the quotation is cut, and what follows it stays."""
    head, mark, end = text.rpartition('"')
    if not mark or cells(text) <= room:
        return cut(text, room)
    return cut(head, room - cells(mark + end)) + mark + end


def fitted(name: str, room: int) -> str:
    """A long name without its beginning: the end says more."""
    if cells(name) <= room:
        return name
    while cells(name) > room - 1:
        name = name[1:]
    return "…" + name


def in_columns(rows: list[tuple[str, ...]], tabs: bool) -> list[str]:
    """A line for each row, in aligned columns; with `tabs`, separated by them, for a program."""
    if tabs:
        return ["\t".join(row) for row in rows]
    widths = [max(map(cells, column)) for column in zip(*rows)]
    return ["  ".join(text + " " * (width - cells(text)) for text, width in zip(row, widths)).rstrip()
            for row in rows]
