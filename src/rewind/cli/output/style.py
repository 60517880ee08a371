"""How things look in a terminal and in JSON: colours, paths, kinds of entries."""

from __future__ import annotations

import os
import sys

from rewind.words import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO, TypedDict

    from rewind.snapshot.trees.tree import TreeEntry

    class _ExactPath(TypedDict, total=False):
        path_b64: str

    class PathJson(_ExactPath):
        """`path_b64` is there where the name is not UTF-8."""

        path: str

    class PathWithReason(PathJson):
        reason: str

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34",
          "magenta": "35", "cyan": "36"}


def paint(text: str, style: str, stream: TextIO | None = None) -> str:
    """Text in colour, for stdout or another stream; unchanged without a style or where colours are not
    wanted."""
    wanted = (text and style and (stream or sys.stdout).isatty() and not os.environ.get("NO_COLOR")
              and os.environ.get("TERM") != "dumb")
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if wanted else text


def visible(line: bytes) -> str:
    """A line of a file with its control characters escaped; tabs stay."""
    return "\t".join(shown(part) for part in line.split(b"\t"))


def path_json(path: bytes) -> PathJson:
    """A path in JSON: lossy text, and the exact bytes beside it when the text is lossy."""
    text = path.decode("utf-8", "replace")
    if text.encode("utf-8", "replace") == path:
        return {"path": text}
    import base64

    return {"path": text, "path_b64": base64.b64encode(path).decode()}


def with_reason(path: bytes, reason: str) -> PathWithReason:
    return {**path_json(path), "reason": reason}


def kind_of(entry: TreeEntry) -> str:
    return {b"l": "link", b"d": "directory", b"u": "uncovered"}.get(entry.kind, "file")
