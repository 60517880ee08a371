"""One change between two states of a tree, and the comparison that finds all differences."""

from __future__ import annotations

from rewind.snapshot.trees.tree import DIR, EMPTY, UNCOVERED, Tree, TreeEntry, check_depth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Trees = Callable[[bytes], Tree]
    Difference = tuple[bytes, "TreeEntry | None", "TreeEntry | None"]  # path, old, new


class Change:
    """`action` is write, delete, mkdir, rmdir or chmod; `before` is what the path holds now."""

    __slots__ = ("action", "before", "in_the_way", "path", "target")

    def __init__(self, action: str, path: bytes, target: TreeEntry | None, before: TreeEntry | None,
                 in_the_way: bool = False) -> None:
        self.action = action
        self.path = path
        self.target = target
        self.before = before
        self.in_the_way = in_the_way  # must be removed before something else can take its place

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Change) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.action, self.path))

    def __repr__(self) -> str:
        return f"Change({self.action} {self.path!r})"


class Paths:
    """A selection of paths: everything, or the named paths and what is below them."""

    def __init__(self, paths: list[bytes] | None = None) -> None:
        self.paths = [p.rstrip(b"/") for p in paths] if paths else None
        if self.paths and (b"" in self.paths or b"." in self.paths):
            self.paths = None

    def covers(self, path: bytes) -> bool:
        return self.paths is None or any(
            path == p or path.startswith(p + b"/") for p in self.paths)

    def below(self, path: bytes) -> list[bytes]:
        """The named paths below `path`."""
        return [p for p in self.paths or () if p.startswith(path + b"/")]

    def touches(self, path: bytes) -> bool:
        """Whether `path` is selected, or leads to something selected."""
        return self.covers(path) or bool(self.below(path))


def differences(old: bytes | None, old_trees: Trees, new: bytes | None, new_trees: Trees,
                paths: Paths, folder: bytes = b"") -> Iterator[Difference]:
    """(path, old entry, new entry) for every file, link or empty directory that differs."""
    check_depth(folder)
    before = old_trees(old) if old else EMPTY
    after = new_trees(new) if new else EMPTY
    for name in before.differing(after):
        path = folder + b"/" + name if folder else name
        if not paths.touches(path):
            continue
        a, b = before.entries.get(name), after.entries.get(name)
        if _unknown(a, b, before, after):
            continue
        a_dir, b_dir = bool(a and a.kind == DIR), bool(b and b.kind == DIR)
        if a and not a_dir and paths.covers(path):
            yield path, a, None if b_dir else b
        elif b and not b_dir and paths.covers(path):
            yield path, None, b
        if a_dir or b_dir:
            if (a_dir and b_dir and a and b and a.mode != b.mode) or not (a_dir and b_dir):
                yield from _directory_itself(path, a if a_dir else None, b if b_dir else None,
                                             old_trees, new_trees, paths)
            yield from differences(a.ref if a and a_dir else None, old_trees,
                                   b.ref if b and b_dir else None, new_trees, paths, path)


def _unknown(a: TreeEntry | None, b: TreeEntry | None, before: Tree, after: Tree) -> bool:
    """What was not captured on one side cannot be compared."""
    if (a and a.kind == UNCOVERED) or (b and b.kind == UNCOVERED):
        return True
    return bool((a is None and before.partial) or (b is None and after.partial))


def _directory_itself(path: bytes, a: TreeEntry | None, b: TreeEntry | None, old_trees: Trees,
                      new_trees: Trees, paths: Paths) -> Iterator[Difference]:
    """A directory is listed itself if its mode changed or if it is empty."""
    if not paths.covers(path):
        return
    if a and b:
        yield path, a, b
    elif a and not old_trees(a.ref).entries:
        yield path, a, None
    elif b and not new_trees(b.ref).entries:
        yield path, None, b
