"""What differs in a file, as the lines of a patch for the page to show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rewind.controller import Difference, comparisons, patch_lines
from rewind.controller import comparing as c
from rewind.web.render.rows import Row, rows_of

if TYPE_CHECKING:
    from rewind.snapshot.diff.compare import Comparison

MOST_BYTES = 200 << 10
_MOST_FILES = 50


@dataclass
class Patch:
    """`text` is None where there is too much of it; `binary` are paths without lines to show."""

    text: str | None = None
    binary: list[bytes] = field(default_factory=list)


def line_rows(one: Comparison, path: str) -> list[Row]:
    """The lines of both sides with their colours; none where it is no text."""
    if one.verdict != c.TEXT:
        return []
    old, new = (b"".join(lines).decode("utf-8", "replace") for lines in (one.old_lines, one.new_lines))
    return rows_of(old, new, one.blocks, path)


def patch_of(difference: Difference, one_path: bool) -> Patch:
    """Of everything that differs if that is little; of a single path as much as there is room for."""
    found = Patch()
    if len(difference.changes) > _MOST_FILES and not one_path:
        return found
    lines: list[str] = []
    size = 0
    for path, old, new in difference.changes:
        compared = list(comparisons(path, old, new, difference.old.content, difference.new.content))
        if any(one.verdict in (c.BINARY, c.LARGE, c.UNREADABLE) for one in compared):
            found.binary.append(path)
            continue
        for _, line in (line for one in compared for line in patch_lines(one)):
            size += len(line) + 1
            if size > MOST_BYTES:
                if one_path:
                    found.text = "\n".join([*lines, "… the rest is left out …"])
                return found
            lines.append(line.decode("utf-8", "replace"))
    found.text = "\n".join(lines) + "\n" if lines else ""
    return found
