"""Many paths as few lines: a directory in which everything changed in the same way becomes one line."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    Line = tuple[str, bytes, str]  # sign, path, remark
    Folded = tuple[str, bytes, str, int]  # the same, and how many files it stands for (0: only itself)

LEAST = 5  # fewer files are shown one by one


class _Node:
    __slots__ = ("below", "line")

    def __init__(self) -> None:
        self.below: dict[bytes, _Node] = {}
        self.line: Line | None = None

    def leaves(self) -> list[Line]:
        """The lines of all files below. A directory counts only if it is empty."""
        if not self.below:
            return [self.line] if self.line else []
        return [line for name in sorted(self.below) for line in self.below[name].leaves()]


def fold(lines: list[Line], least: int = LEAST) -> list[Folded]:
    """Ordered by sign, in the order in which the signs first appear, then by name."""
    signs = list(dict.fromkeys(sign for sign, _, _ in lines))
    top = _Node()
    for line in lines:
        node = top
        for part in line[1].split(b"/"):
            node = node.below.setdefault(part, _Node())
        node.line = line
    return sorted(_folded(top, b"", least), key=lambda one: (signs.index(one[0]), one[1]))


def _folded(node: _Node, path: bytes, least: int) -> list[Folded]:
    if not node.below:
        return [(*node.line, 0)] if node.line else []
    leaves = node.leaves()
    kinds = {(sign, remark) for sign, _, remark in leaves}
    if path and len(kinds) == 1 and len(leaves) >= least:
        sign, remark = kinds.pop()
        return [(sign, path + b"/", remark, len(leaves))]
    own = [] if node.line is None or (node.line[0], node.line[2]) in kinds else [(*node.line, 0)]
    return own + [line for name in sorted(node.below)
                  for line in _folded(node.below[name], path + b"/" + name if path else name, least)]
