"""Merges some hunks of a file. The other changes in it are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rewind.errors import HunkChanged
from rewind.snapshot.diff.compare import TEXT, Comparison, compare
from rewind.snapshot.diff.textdiff import hunks
from rewind.snapshot.merge.tree_merge import Side, TreeMerge, file_entry
from rewind.snapshot.trees.tree import FILES, TreeEntry


class HunkMerge(TreeMerge):
    """Merges base with only the chosen hunks of theirs. `chosen` are ids of hunks by path. A path without any
    merges completely. The hunks are those of the difference from theirs to base."""

    def __init__(self, base: Side, ours: Side, theirs: Side, put: Callable[[bytes], bytes],
                 chosen: dict[bytes, list[str]], **more: Any) -> None:
        super().__init__(base, ours, Side(theirs.root, theirs.trees, self._read_theirs), put, **more)
        self.chosen = {path: ids for path, ids in chosen.items() if ids}
        self._whole = theirs
        self._mixed: dict[bytes, bytes] = {}  # content made from both sides, by path

    def _leaf(self, path: bytes, base: TreeEntry | None, ours: TreeEntry | None,
              theirs: TreeEntry | None) -> TreeEntry | None:
        if path in self.chosen and self.paths.covers(path):
            theirs = self._part(path, base, theirs)
        return super()._leaf(path, base, ours, theirs)

    def _part(self, path: bytes, base: TreeEntry | None, theirs: TreeEntry | None) -> TreeEntry | None:
        if any(entry and entry.kind not in FILES for entry in (base, theirs)):
            raise HunkChanged(path=path.decode("utf-8", "surrogateescape"))
        one = compare(path, theirs, base, _reader(self._whole), _reader(self.base))
        found = {hunk.id: hunk for hunk in hunks(one.old_lines, one.new_lines, one.blocks)}
        wanted = set(self.chosen[path])
        if one.verdict != TEXT or not wanted <= found.keys():
            raise HunkChanged(path=path.decode("utf-8", "surrogateescape"))
        if wanted == found.keys() and (base is None or theirs is None):
            return theirs  # the file itself is added or deleted
        data = self._mixed[path] = _mixed(one, [found[id].old_range for id in wanted])
        return file_entry(data, (base or theirs).mode, self.put)  # type: ignore[union-attr]

    def _read_theirs(self, path: bytes, entry: TreeEntry) -> bytes | None:
        return self._mixed[path] if path in self._mixed else self._whole.read(path, entry)


def _reader(side: Side) -> Callable[[bytes, TreeEntry, int], bytes | None]:
    return lambda path, entry, limit: side.read(path, entry) if entry.size <= limit else None


def _mixed(one: Comparison, taken: Iterable[tuple[int, int]]) -> bytes:
    """The new text, but with the old lines in these ranges of the old text."""
    ranges, lines, at = list(taken), [], 0
    for a, b, c, d in one.blocks:
        is_taken = any(start <= a and b <= end for start, end in ranges)
        lines += [*one.new_lines[at:c], *(one.old_lines[a:b] if is_taken else one.new_lines[c:d])]
        at = d
    return b"".join([*lines, *one.new_lines[at:]])
