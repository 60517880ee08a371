"""One path on two sides: whether it can be shown as lines of text, and which of them differ."""

from __future__ import annotations

from rewind.snapshot.diff.linediff import changed_blocks
from rewind.snapshot.diff.textdiff import counts, is_binary, lines_of
from rewind.snapshot.trees.tree import DIR, LINK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rewind.snapshot.diff.linediff import Block
    from rewind.snapshot.trees.tree import TreeEntry

    Read = Callable[[bytes, TreeEntry, int], "bytes | None"]  # path, entry, limit -> content

MAX_BYTES = 2 << 20
MAX_LINES = 50_000

TEXT, BINARY, LARGE, UNREADABLE = "text", "binary", "large", "unreadable"
DIRECTORY, SAME = "directory", "same"  # SAME: only the mode differs


class Comparison:
    __slots__ = ("blocks", "new", "new_lines", "old", "old_lines", "path", "verdict")

    def __init__(self, path: bytes, old: TreeEntry | None, new: TreeEntry | None, verdict: str) -> None:
        self.path = path
        self.old = old
        self.new = new
        self.verdict = verdict
        self.old_lines: list[bytes] = []
        self.new_lines: list[bytes] = []
        self.blocks: list[Block] = []

    @property
    def counts(self) -> tuple[int, int] | None:
        """Lines inserted and deleted. None if there are no lines to count."""
        return counts(self.blocks) if self.verdict in (TEXT, SAME) else None

    @property
    def is_counted(self) -> bool:
        """False if it may have changed lines that were not counted."""
        return self.verdict not in (LARGE, UNREADABLE)


def compare(path: bytes, old: TreeEntry | None, new: TreeEntry | None, read_old: Read,
            read_new: Read) -> Comparison:
    sides = [entry for entry in (old, new) if entry]
    if any(entry.kind == DIR for entry in sides):
        return Comparison(path, old, new, DIRECTORY)
    if old and new and old.same_content(new):
        return Comparison(path, old, new, SAME)
    if any(entry.size > MAX_BYTES for entry in sides):
        return Comparison(path, old, new, LARGE)
    texts = [_content(path, old, read_old), _content(path, new, read_new)]
    return _compare_texts(Comparison(path, old, new, TEXT), texts)


def _content(path: bytes, entry: TreeEntry | None, read: Read) -> bytes | None:
    if entry is None:
        return b""
    return entry.ref if entry.kind == LINK else read(path, entry, MAX_BYTES)


def _compare_texts(found: Comparison, texts: list[bytes | None]) -> Comparison:
    old, new = texts
    if old is None or new is None:
        found.verdict = UNREADABLE
    elif is_binary(old) or is_binary(new):
        found.verdict = BINARY
    elif max(old.count(b"\n"), new.count(b"\n")) > MAX_LINES:
        found.verdict = LARGE
    else:
        found.old_lines, found.new_lines = lines_of(old), lines_of(new)
        found.blocks = changed_blocks(found.old_lines, found.new_lines, by_indent=True, to_show=True)
    return found
