"""Where the parts of a JSON file are in its text, so that an edit changes nothing else.

It reads strictly, as the agents do: no comments, no trailing commas, no duplicate keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any, NamedTuple

from rewind.config.strictjson import Refused, unique_keys
from rewind.errors import SettingsUnreadable
from rewind.install.agent_settings.comments import without_comments

Edit = tuple[int, int, str]  # from, to, the text to put there

BOM = "\ufeff"
_NUMBER_LIMIT = 64  # digits; nothing here needs the value of a longer number
_SPACE = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"[ \t]*")
_NEWLINE = re.compile(r"\r\n|\n|\r")  # none of them can be inside a string
# What `Style._fill` leaves after the opening bracket if there was nothing between the brackets.
_WAS_CLOSED = re.compile(r" [\r\n]")


class Element(NamedTuple):
    """A member of an object or an item of a list, and where it is."""

    start: int
    at: int  # where the value begins
    end: int
    key: str | None  # None for an item
    value: Any


class Box:
    """An object or a list in the text: its brackets and its elements."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.open = start
        self.elements: list[Element] = []
        self.close = self._read()

    def _read(self) -> int:
        text, at = self.text, _skip(self.text, self.open + 1)
        while text[at] not in "]}":
            element = self._element(at)
            self.elements.append(element)
            at = _skip(text, element.end)
            if text[at] == ",":
                at = _skip(text, at + 1)
        return at

    def _element(self, start: int) -> Element:
        at, key = start, None
        if self.text[self.open] == "{":
            key, at = _DECODER.raw_decode(self.text, at)
            at = _skip(self.text, _skip(self.text, at) + 1)
        value, end = _DECODER.raw_decode(self.text, at)
        return Element(start, at, end, key, value)

    def find(self, key: str) -> Element | None:
        return next((element for element in self.elements if element.key == key), None)

    def inner(self, element: Element) -> Box:
        return Box(self.text, element.at)

    def lead(self, index: int) -> str:
        """The space between the comma or bracket before an element and the element."""
        start = self.elements[index].start
        return self.text[len(self.text[:start].rstrip(" \t\r\n")):start]

    def remove(self, indices: Collection[int]) -> list[Edit]:
        """Take out some of the elements, but not all, each with its comma and space."""
        edits, kept = [], False
        for i, element in enumerate(self.elements):
            if i not in indices:
                kept = True
            elif kept:
                edits.append((self.elements[i - 1].end, element.end, ""))
            else:
                edits.append((element.start, self.elements[i + 1].start, ""))
        return edits

    def empty(self) -> Edit:
        """Take out all elements, and leave the brackets as they were before `Style._fill`."""
        text = self.text
        closed = _WAS_CLOSED.match(text, self.open + 1)
        space = "" if closed else text[self.elements[-1].end:self.close]
        return self.open + 1, self.close, space


class Style:
    """How a file is laid out, so that what is added looks like the rest of it."""

    def __init__(self, root: Box) -> None:
        text = root.text
        newline = _NEWLINE.search(text)
        self.newline = newline.group() if newline else "\n"
        self.unit, self.colon, self.comma, self.lines = "  ", " ", " ", True
        if root.elements:
            first = root.elements[0]
            self.colon = " " if text[first.at - 1] in " \t\r\n" else ""
            self.comma = self.colon if len(root.elements) == 1 else " " if root.lead(1) else ""
            self.lines = _has_newline(root.lead(0))
        if root.elements and self.lines:
            self.unit = _line_indent(text, root.elements[0].start)

    def add(self, box: Box, pieces: list[tuple[str | None, Any]]) -> Edit:
        """Add elements after those that are there."""
        return self._append(box, pieces) if box.elements else self._fill(box, pieces)

    def _append(self, box: Box, pieces: list[tuple[str | None, Any]]) -> Edit:
        last, lead = box.elements[-1], box.lead(-1)
        indent = _line_indent(box.text, last.start)
        own_line = _has_newline(lead)
        space = lead if len(box.elements) > 1 else self.comma
        before = "," + (self.newline + indent if own_line else space)
        lines = own_line or _has_newline(box.text[last.start:last.end])
        new = "".join(before + self._piece(piece, indent, lines) for piece in pieces)
        return last.end, last.end, new

    def _fill(self, box: Box, pieces: list[tuple[str | None, Any]]) -> Edit:
        """Put elements between empty brackets. The space that was between them goes after the last element,
        where `Box.empty` finds it. If there was no space, a blank is left after the opening bracket instead,
        since the closing one gets a line of its own."""
        space = box.text[box.open + 1:box.close]
        indent = _line_indent(box.text, box.open)
        lines = _has_newline(space) or (self.lines and not space)
        inner = indent + self.unit
        new = [self._piece(piece, inner, lines) for piece in pieces]
        if not lines:
            return box.open + 1, box.close, space + ("," + self.comma).join(new) + space
        start = self.newline + inner
        text = start + ("," + start).join(new)
        if not space:
            text, space = " " + text, self.newline + indent
        return box.open + 1, box.close, text + space

    def _piece(self, piece: tuple[str | None, Any], indent: str, lines: bool) -> str:
        key, value = piece
        colon = ":" + self.colon
        name = "" if key is None else json.dumps(key) + colon
        if not lines:
            return name + json.dumps(value, separators=("," + self.comma, colon))
        text = json.dumps(value, indent=self.unit, separators=(",", colon))
        return name + text.replace("\n", self.newline + indent)


def read_root(text: str, file: str) -> Box:
    """The object that the text holds."""
    body = text[len(BOM):] if text.startswith(BOM) else text
    if not body.strip():
        raise SettingsUnreadable(file=file, problem="it is empty",
                                 hint="Nothing was written. Delete it, or write {} into it, then try again.")
    try:
        found = _DECODER.decode(body)
    except json.JSONDecodeError as error:
        raise SettingsUnreadable(file=file, problem=_syntax_problem(body, error)) from None
    except Refused as error:
        raise SettingsUnreadable(file=file, problem=str(error)) from None
    except RecursionError:
        raise SettingsUnreadable(file=file, problem="it is nested too deeply") from None
    if not isinstance(found, dict):
        raise SettingsUnreadable(file=file, problem="it does not hold a JSON object")
    return Box(text, _skip(text, len(text) - len(body)))


def _syntax_problem(body: str, error: json.JSONDecodeError) -> str:
    try:
        _DECODER.decode(without_comments(body))
    except (ValueError, RecursionError):
        return f"it is not valid JSON (line {error.lineno}, column {error.colno}: {error.msg})"
    return "it has comments, and only plain JSON is changed"


def apply_edits(text: str, edits: list[Edit]) -> str:
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _integer(text: str) -> int | str:
    return int(text) if len(text) <= _NUMBER_LIMIT else text


def _constant(text: str) -> Any:
    raise Refused(f"it is not valid JSON ({text} is not a number)")


_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys, parse_int=_integer, parse_constant=_constant)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found
    return found.end()


def _has_newline(text: str) -> bool:
    return "\n" in text or "\r" in text


def _line_indent(text: str, at: int) -> str:
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    found = _INDENT.match(text, start, at)
    return found.group() if found else ""
