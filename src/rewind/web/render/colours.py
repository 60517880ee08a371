"""Code in colours, by Pygments: lines of (class, text), and their HTML, which consists of spans only."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from html import escape
from typing import Any

from pygments.lexers import find_lexer_class_for_filename, get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, Punctuation, String
from pygments.util import ClassNotFound

Line = list[tuple[str, str]]  # (class, text)

_MOST = 200_000  # characters; a longer text gets no colours
# The first one that matches counts.
_CLASSES = [(Comment, "hl-comment"), (String, "hl-string"), (Number, "hl-number"), (Keyword, "hl-word"),
            (Operator.Word, "hl-word"), (Name.Function, "hl-name"), (Name.Class, "hl-name"),
            (Name.Tag, "hl-word"), (Name.Attribute, "hl-name"), (Name.Decorator, "hl-name"),
            (Name.Builtin, "hl-builtin"), (Generic.Deleted, "hl-removed"), (Generic.Inserted, "hl-added"),
            (Generic.Heading, "hl-comment"), (Generic.Subheading, "hl-comment"), (Punctuation, "")]


@lru_cache(maxsize=200)
def lexer_for(language: str, path: str = "") -> Any:
    """The lexer of Pygments; None if there is none."""
    try:
        if language:
            return get_lexer_by_name(language[:40], stripnl=False, ensurenl=False)
        found = find_lexer_class_for_filename(path.rsplit("/", 1)[-1]) if path else None
        return found(stripnl=False, ensurenl=False) if found else None
    except (ClassNotFound, ValueError):
        return None


def coloured(text: str, lexer: Any) -> list[Line]:
    """The lines of a text without their ends: one more than it has line feeds."""
    # Pygments would take a single \r for the end of a line.
    text = text.replace("\r\n", "\n").replace("\r", "␍")
    plain = [[("", line)] if line else [] for line in text.split("\n")]
    if lexer is None or len(text) > _MOST:
        return plain
    found = _in_lines(lexer.get_tokens(text))
    return found if len(found) == len(plain) else plain


def _in_lines(tokens: Iterable[tuple[Any, str]]) -> list[Line]:
    lines: list[Line] = [[]]
    for kind, value in tokens:
        name = _class_of(kind)
        first, *rest = value.split("\n")
        lines[-1] += [(name, first)] if first else []
        lines += [[(name, part)] if part else [] for part in rest]
    return lines


@lru_cache(maxsize=500)
def _class_of(kind: Any) -> str:
    return next((name for known, name in _CLASSES if kind is not None and kind in known), "")


def line_html(line: Line, marks: list[tuple[int, int]] | None = None) -> str:
    """A line as spans. The characters in `marks` (from, to) are highlighted."""
    found, at = [], 0
    for name, text in line:
        for start, end, marked in _pieces(at, at + len(text), marks or []):
            found.append(_span(f"{name} word".strip() if marked else name, text[start - at:end - at]))
        at += len(text)
    return "".join(found)


def _pieces(start: int, end: int, marks: list[tuple[int, int]]) -> list[tuple[int, int, bool]]:
    found = []
    for low, high in marks:
        low, high = max(low, start), min(high, end)
        if low < high:
            found += [(start, low, False)] if start < low else []
            found.append((low, high, True))
            start = high
    return [*found, (start, end, False)] if start < end else found


def _span(name: str, text: str) -> str:
    safe = escape(text)
    return f'<span class="{name}">{safe}</span>' if name else safe


def code_html(text: str, language: str) -> str:
    return "\n".join(line_html(line) for line in coloured(text, lexer_for(language)))
