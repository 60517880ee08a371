"""How things look in a terminal: colours, sizes, ages, and names that cannot do harm there."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TextIO

    from rewind.snapshot.trees.tree import TreeEntry

    Paint = Callable[[str, str], str]

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34",
          "magenta": "35", "cyan": "36"}


def style_for(stream: TextIO) -> Paint:
    """A function that colours text, or leaves it alone where colours are not wanted."""
    wanted = (stream.isatty() and not os.environ.get("NO_COLOR")
              and os.environ.get("TERM") != "dumb")

    def paint(text: str, style: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if wanted else text

    return paint


def shown(path: bytes) -> str:
    """A name as one line of text: bytes that are not UTF-8 and control characters are escaped."""
    return safe(path.decode("utf-8", "surrogateescape"))


def _escaped(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char, f"\\u{code:04x}" if code > 255
                                                       else f"\\x{code:02x}")


def safe(text: str) -> str:
    """Text from a record or a transcript, for a terminal: on one line, nothing that can steer it."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def path_json(path: bytes, **more: object) -> dict[str, Any]:
    """A path in JSON: lossy text, and the exact bytes beside it when the text is lossy."""
    import base64

    text = path.decode("utf-8", "replace")
    exact = {} if text.encode("utf-8", "replace") == path else {
        "path_b64": base64.b64encode(path).decode()}
    return {"path": text, **exact, **more}


def kind_of(entry: TreeEntry) -> str:
    return {b"l": "link", b"d": "directory", b"u": "uncovered"}.get(entry.kind, "file")


def size(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"


def age(then: float, now: float | None = None) -> str:
    """How long ago, in one unit: people compare, they do not calculate."""
    seconds = max(0.0, (now if now is not None else time.time()) - then)
    for limit, step, unit in ((90, 1, "s"), (5400, 60, "min"), (129600, 3600, "h")):
        if seconds < limit:
            return f"{seconds / step:.0f} {unit} ago" if seconds >= 1 else "now"
    days = seconds / 86400
    if days < 60:
        return f"{days:.0f} days ago"
    return f"{days / 30.4:.0f} months ago" if days < 700 else f"{days / 365.25:.0f} years ago"
