"""What differs in a file, as the lines of a patch for the page to show."""

from __future__ import annotations

from rewind.controller import comparing as c
from rewind.controller import comparisons, patch_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.controller import Difference

MOST_BYTES = 200 << 10
_MOST_FILES = 50


class Patch:
    """`text` is None where there is too much of it; `binary` are paths without lines to show."""

    def __init__(self) -> None:
        self.text: str | None = None
        self.binary: list[bytes] = []


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
