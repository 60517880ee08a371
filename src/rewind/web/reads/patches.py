"""The differences of files, as lines of a patch for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.controller import Difference, comparisons, patch_lines
from rewind.controller import comparing as c
from rewind.web.render.rows import Row, rows_of

if TYPE_CHECKING:
    from rewind.snapshot.diff.compare import Comparison
    from rewind.snapshot.trees.tree import TreeEntry
    from rewind.web.reads import parts

MOST_BYTES = 200 << 10
_MOST_FILES = 50


def file_lines(text: str, one: Comparison) -> parts.FileLines:
    """One file of a difference, line by line. `text` is its path."""
    counts = one.counts
    return {"path": text, "status": status_of(one.old, one.new), "verdict": one.verdict,
            "added": counts and counts[0], "removed": counts and counts[1], "rows": line_rows(one, text)}


def status_of(old: TreeEntry | None, new: TreeEntry | None) -> str:
    return "added" if old is None else "deleted" if new is None else "modified"


def line_rows(one: Comparison, path: str) -> list[Row]:
    """The lines of both sides in colours; none if the file is not text."""
    if one.verdict != c.TEXT:
        return []
    old, new = (b"".join(lines).decode("utf-8", "replace") for lines in (one.old_lines, one.new_lines))
    return rows_of(old, new, one.blocks, path)


def patch_of(difference: Difference, one_path: bool) -> tuple[str | None, list[bytes]]:
    """The patch, and the paths that have no lines to show. If there is too much of it, the patch of a single
    path is cut, and that of several paths is None."""
    binary: list[bytes] = []
    lines: list[str] = []
    size = 0
    if len(difference.changes) > _MOST_FILES and not one_path:
        return None, binary
    for path, old, new in difference.changes:
        compared = list(comparisons(path, old, new, difference.old.content, difference.new.content))
        if any(one.verdict in (c.BINARY, c.LARGE, c.UNREADABLE) for one in compared):
            binary.append(path)
            continue
        for _, line in (line for one in compared for line in patch_lines(one)):
            size += len(line) + 1
            if size > MOST_BYTES:
                return "\n".join([*lines, "… the rest is left out …"]) if one_path else None, binary
            lines.append(line.decode("utf-8", "replace"))
    return "\n".join(lines) + "\n" if lines else "", binary
