"""A patch for a terminal: in colours, with control characters made visible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rewind.cli.output.style import paint, visible
from rewind.controller import comparisons, patch_lines

if TYPE_CHECKING:
    from rewind.snapshot.diff.compare import Read
    from rewind.snapshot.diff.patch import Line
    from rewind.snapshot.trees.tree import TreeEntry

_STYLES = {"head": "bold", "hunk": "cyan", "remark": "cyan", "-": "red", "+": "green"}


def patch(path: bytes, old: TreeEntry | None, new: TreeEntry | None, read_old: Read,
          read_new: Read) -> Iterator[Line]:
    for one in comparisons(path, old, new, read_old, read_new):
        yield from patch_lines(one)


def for_terminal(line: Line) -> str:
    return paint(readable(line), _STYLES.get(line[0], ""))


def readable(line: Line) -> str:
    text = line[1]
    if text.startswith(b" "):
        text = text.rstrip(b"\r")  # in unchanged lines the line ending does not matter
    return visible(text)
