"""Merges the changes of two trees since a third, path by path, like git without its search for renames.

Text merges by lines. A binary file, a link or a mode merges as one value. A name may be a file or link on one
side and a directory on another: both are merged, and if both remain, there is a conflict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.snapshot.diff.textdiff import is_binary
from rewind.snapshot.merge.line_merge import MARKERS, OURS, THEIRS, merge
from rewind.snapshot.trees.change import Paths
from rewind.snapshot.trees.tree import (
    CHUNKED,
    DIR,
    EMPTY,
    FILE,
    FILES,
    LINK,
    UNCOVERED,
    Tree,
    TreeEntry,
    check_depth,
    encode_pieces,
)
from rewind.store.blobs import CHUNK

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Optional

    from rewind.snapshot.trees.change import Trees

    Read = Callable[[bytes, TreeEntry], Optional[bytes]]

# Why a path is in conflict. `words.py` has a sentence for each.
TEXT, BINARY, LINKS, MODES = "both-changed", "both-changed-binary", "both-changed-link", "both-changed-mode"
KINDS, CHANGED_SINCE, DELETED_SINCE = "both-changed-kind", "changed-since", "deleted-since"
CHANGED_HERE, DIRECTORY, TOO_LONG = "changed-here", "file-and-directory", "too-long-to-merge"
MOST_BYTES = 32 << 20  # a longer file is not merged by lines
_BY_RULE = (b"skip-list", b"ignored", b"ignored-large", b"pins-only")  # rules: not the work of a turn


class Side:
    """One of the three trees. `read` returns a file's bytes, or None if there are too many."""

    def __init__(self, root: bytes, trees: Trees, read: Read) -> None:
        self.root = root
        self.trees = trees
        self.read = read


class Conflict:
    """A path in conflict. `lines` are its places in the current file: (first, how many)."""

    def __init__(self, path: bytes, reason: str, lines: list[tuple[int, int]]) -> None:
        self.path = path
        self.reason = reason
        self.lines = lines


class TreeMerge:
    """Ours with the changes from base to theirs. `put` stores a blob and returns its name."""

    def __init__(self, base: Side, ours: Side, theirs: Side, put: Callable[[bytes], bytes], *, how: str = "",
                 labels: tuple[str, str] = ("", ""), paths: Paths | None = None,
                 frozen: frozenset[bytes] = frozenset(),
                 looked_for: frozenset[bytes] = frozenset(), gone: str = CHANGED_SINCE) -> None:
        """`how` says what to do about conflicts. Empty means: report them and keep ours. `frozen` paths are
        in conflict already and stay as they are. `looked_for` are paths in directories that are partial in
        ours, for which the caller has looked. `gone` is the reason for the conflict if ours changed a path
        that theirs lacks."""
        self.base, self.ours, self.theirs = base, ours, theirs
        self.put = put
        self.how = how
        self.labels = labels
        self.paths = paths or Paths()
        self.frozen = frozen
        self.looked_for = looked_for
        self.gone = gone
        self.conflicts: list[Conflict] = []  # not settled by `how`
        self.settled: list[Conflict] = []
        self.unknown: list[tuple[bytes, str]] = []  # changed, but not captured before or after the change
        self.touched: list[bytes] = []  # paths that changed from base to theirs

    def root(self) -> bytes:
        """The resulting tree."""
        ours = self.ours.trees(self.ours.root)
        tree = self._tree(b"", self.base.trees(self.base.root), ours, self.theirs.trees(self.theirs.root))
        return self.ours.root if tree is ours else self.put(tree.encode())

    def _tree(self, folder: bytes, base: Tree, ours: Tree, theirs: Tree) -> Tree:
        check_depth(folder)
        found = dict(ours.entries)
        for name in sorted({*base.entries, *theirs.entries}):
            path = folder + b"/" + name if folder else name
            before, after = base.entries.get(name), theirs.entries.get(name)
            if before == after or not self.paths.touches(path) or path in self.frozen:
                continue
            if (before is None and base.partial) or (after is None and theirs.partial):
                continue  # unknown on that side
            if name not in ours.entries and ours.partial and path not in self.looked_for:
                entry = after  # it may exist: the caller checks before it writes
            else:
                entry = self._entry(path, before, ours.entries.get(name), after)
            if entry is None:
                found.pop(name, None)
            else:
                found[name] = entry
        return ours if found == ours.entries else Tree(found, ours.partial)

    def _entry(self, path: bytes, base: TreeEntry | None, ours: TreeEntry | None,
               theirs: TreeEntry | None) -> TreeEntry | None:
        if any(entry is not None and entry.kind == UNCOVERED for entry in (base, ours, theirs)):
            return self._uncovered(path, base, ours, theirs)
        conflicts = self.settled if self.how in (OURS, THEIRS) else self.conflicts
        known = len(conflicts)
        leaf = self._leaf(path, *(None if _is_dir(entry) else entry for entry in (base, ours, theirs)))
        of_leaf = slice(known, len(conflicts))
        directory = self._directory(path, *(entry if _is_dir(entry) else None
                                            for entry in (base, ours, theirs)))
        if leaf and directory:
            del conflicts[of_leaf]  # one path, one conflict
            return self._conflict(path, DIRECTORY, ours, theirs)
        return leaf or directory

    # what was there but not captured

    def _uncovered(self, path: bytes, base: TreeEntry | None, ours: TreeEntry | None,
                   theirs: TreeEntry | None) -> TreeEntry | None:
        """If only ours was not captured, it may be captured later: the caller checks again before it
        writes."""
        if not self.paths.covers(path):
            return ours
        for side, other in ((base, theirs), (theirs, base)):
            if side is not None and side.kind == UNCOVERED:
                reason = side.ref.decode()
                if other is not None and other.kind == UNCOVERED:
                    return ours
                if other is not None and not (side is theirs and side.ref in _BY_RULE):
                    return self._conflict(path, reason, ours, ours if side is theirs else theirs)
                self.unknown += [(path, reason)] if ours else []
                return ours
        assert ours is not None
        self.touched.append(path)
        return theirs if theirs is not None else self._conflict(path, ours.ref.decode(), ours, None)

    # files and links

    def _leaf(self, path: bytes, base: TreeEntry | None, ours: TreeEntry | None,
              theirs: TreeEntry | None) -> TreeEntry | None:
        if base == theirs or not self.paths.covers(path):
            return ours
        self.touched.append(path)
        if ours in (base, theirs):
            return theirs
        if ours is None or theirs is None:
            return self._conflict(path, DELETED_SINCE if ours is None else self.gone, ours, theirs)
        if LINK in (ours.kind, theirs.kind):
            return self._conflict(path, LINKS if ours.kind == theirs.kind else KINDS, ours, theirs)
        return self._file(path, base if base and base.kind in FILES else None, ours, theirs)

    def _file(self, path: bytes, base: TreeEntry | None, ours: TreeEntry, theirs: TreeEntry) -> TreeEntry:
        content = self._content(path, base, ours, theirs)
        base_mode = base.mode if base else -1
        mode = theirs.mode if ours.mode in (theirs.mode, base_mode) else ours.mode
        if mode == ours.mode and ours.mode != theirs.mode and theirs.mode != base_mode:
            settled = self._conflict(path, MODES, ours, theirs)
            mode = settled.mode if settled else mode
        return TreeEntry(content.kind, mode, content.size, content.ref)

    def _content(self, path: bytes, base: TreeEntry | None, ours: TreeEntry, theirs: TreeEntry) -> TreeEntry:
        if ours.same_content(theirs) or (base and theirs.same_content(base)):
            return ours
        if base and ours.same_content(base):
            return theirs
        texts = (self.base.read(path, base) if base else b"", self.ours.read(path, ours),
                 self.theirs.read(path, theirs))
        if texts[0] is None or texts[1] is None or texts[2] is None:
            return self._value(path, TOO_LONG, ours, theirs)
        if any(is_binary(text) for text in texts if text):
            return self._value(path, BINARY, ours, theirs)
        return self._text(path, ours, texts[0], texts[1], texts[2])

    def _value(self, path: bytes, reason: str, ours: TreeEntry, theirs: TreeEntry) -> TreeEntry:
        return self._conflict(path, reason, ours, theirs) or ours

    def _text(self, path: bytes, entry: TreeEntry, base: bytes, ours: bytes, theirs: bytes) -> TreeEntry:
        found = merge(base, ours, theirs, how=self.how or MARKERS, labels=self.labels)
        if found.conflicts:
            (self.settled if self.how else self.conflicts).append(Conflict(path, TEXT, found.conflicts))
            if not self.how:
                return entry
        return file_entry(found.data, entry.mode, self.put)

    # directories

    def _directory(self, path: bytes, base: TreeEntry | None, ours: TreeEntry | None,
                   theirs: TreeEntry | None) -> TreeEntry | None:
        """It exists if something is in it, or if it should exist without content. If both sides changed its
        mode, ours is kept without a conflict."""
        if base == theirs:
            return ours
        present = ours or theirs or base
        if present is None:
            return None
        trees = [side.trees(entry.ref) if entry else EMPTY
                 for side, entry in ((self.base, base), (self.ours, ours), (self.theirs, theirs))]
        tree = self._tree(path, trees[0], trees[1], trees[2])
        covered = self.paths.covers(path)
        wanted = ours if bool(base) == bool(theirs) else theirs and (ours or covered)
        if not tree.entries and not wanted:
            self.touched.append(path)
            return None
        mode = present.mode
        if ours and base and theirs and ours.mode == base.mode and covered:
            mode = theirs.mode
        ref = ours.ref if ours and tree is trees[1] else self.put(tree.encode())
        return TreeEntry(DIR, mode, 0, ref)

    # conflicts

    def _conflict(self, path: bytes, reason: str, ours: TreeEntry | None,
               theirs: TreeEntry | None) -> TreeEntry | None:
        """What is there now, unless the person chose a side. If ours was deleted, theirs is returned, so that
        its name counts as taken."""
        settled = self.how in (OURS, THEIRS)
        (self.settled if settled else self.conflicts).append(Conflict(path, reason, []))
        if settled:
            return theirs if self.how == THEIRS else ours
        return ours or theirs


def file_entry(data: bytes, mode: int, put: Callable[[bytes], bytes]) -> TreeEntry:
    """In the form in which a scan stores a file."""
    if len(data) <= CHUNK:
        return TreeEntry(FILE, mode, len(data), put(data))
    pieces = [data[at:at + CHUNK] for at in range(0, len(data), CHUNK)]
    ref = put(encode_pieces([(len(piece), put(piece)) for piece in pieces]))
    return TreeEntry(CHUNKED, mode, len(data), ref)


def _is_dir(entry: TreeEntry | None) -> bool:
    return entry is not None and entry.kind == DIR
