"""Text in the columns of a terminal: how wide it is, and as much of it as fits."""

from __future__ import annotations

# What we print ourselves, so that a list in plain ASCII need not load the tables of Unicode.
_NARROW = frozenset("●│─╯┴┼◀✎◆◇↶…−★·“”‘’–—")


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


def fitted(name: str, room: int) -> str:
    """The end of a long name says more than its beginning."""
    if cells(name) <= room:
        return name
    while cells(name) > room - 1:
        name = name[1:]
    return "…" + name
