"""Every path of a snapshot, in order, with its entry."""

from __future__ import annotations

from rewind.snapshot.trees.tree import DIR, UNCOVERED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from rewind.snapshot.trees.change import Trees
    from rewind.snapshot.trees.tree import TreeEntry


def every_path(root: bytes, trees: Trees) -> Iterator[tuple[bytes, TreeEntry]]:
    """Directories come before their content. There is no recursion: a tree may be deeper than Python's
    stack."""
    stack = [(b"", iter(sorted(trees(root).entries.items())))]
    while stack:
        prefix, rest = stack[-1]
        for name, entry in rest:
            yield prefix + name, entry
            if entry.kind == DIR:
                below = trees(entry.ref).entries
                stack.append((prefix + name + b"/", iter(sorted(below.items()))))
                break
        else:
            stack.pop()


def uncovered(root: bytes, trees: Trees) -> Iterator[tuple[bytes, bytes]]:
    """(path, reason) for what was there but is not in the snapshot."""
    for path, entry in every_path(root, trees):
        if entry.kind == UNCOVERED:
            yield path, entry.ref
        elif entry.kind == DIR and trees(entry.ref).partial:
            yield path, trees(entry.ref).partial


def entry_at(trees: Trees, root: bytes, path: bytes) -> TreeEntry | None:
    """The entry at `path` below the tree `root`, or None."""
    *folders, name = path.split(b"/")
    tree = trees(root)
    for folder in folders:
        entry = tree.entries.get(folder)
        if entry is None or entry.kind != DIR:
            return None
        tree = trees(entry.ref)
    return tree.entries.get(name)
