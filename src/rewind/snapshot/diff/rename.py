"""Files that went under one name and came under another, with the same content or most of it."""

from __future__ import annotations

from rewind.snapshot.diff.textdiff import is_binary
from rewind.snapshot.trees.tree import DIR, UNCOVERED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.snapshot.diff.compare import Read
    from rewind.snapshot.trees.tree import TreeEntry

    Changed = tuple[bytes, "TreeEntry | None", "TreeEntry | None"]

_MOST_PAIRS = 400  # pairs that are compared line by line
_MOST_BYTES = 512 << 10
_ALIKE = 60  # percent


class Rename:
    __slots__ = ("new", "new_entry", "old", "old_entry", "percent")

    def __init__(self, old: bytes, old_entry: TreeEntry, new: bytes, new_entry: TreeEntry,
                 percent: int) -> None:
        self.old = old
        self.old_entry = old_entry
        self.new = new
        self.new_entry = new_entry
        self.percent = percent


def find_renames(changes: list[Changed], read_old: Read, read_new: Read) -> list[Rename]:
    """Each file once; the same content first, then what is most alike."""
    gone = {path: old for path, old, new in changes if old and new is None and _counts(old)}
    come = {path: new for path, old, new in changes if new and old is None and _counts(new)}
    found = _same(gone, come)
    for one in found:
        del gone[one.old], come[one.new]
    if gone and come and len(gone) * len(come) <= _MOST_PAIRS:
        found += _alike(gone, come, read_old, read_new)
    return sorted(found, key=lambda one: one.new)


def _counts(entry: TreeEntry) -> bool:
    return entry.kind not in (DIR, UNCOVERED) and entry.size > 0


def _same(gone: dict[bytes, TreeEntry], come: dict[bytes, TreeEntry]) -> list[Rename]:
    by_content: dict[tuple[bytes, bytes], list[bytes]] = {}
    for path, entry in gone.items():
        by_content.setdefault((entry.kind, entry.ref), []).append(path)
    found = []
    for path, entry in come.items():
        old = by_content.get((entry.kind, entry.ref))
        if old:
            # Of several the one that keeps its name.
            at = next((p for p in old if _name(p) == _name(path)), old[0])
            old.remove(at)
            found.append(Rename(at, gone[at], path, entry, 100))
    return found


def _name(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]


def _alike(gone: dict[bytes, TreeEntry], come: dict[bytes, TreeEntry], read_old: Read,
           read_new: Read) -> list[Rename]:
    before = {path: _lines(path, entry, read_old) for path, entry in gone.items()}
    after = {path: _lines(path, entry, read_new) for path, entry in come.items()}
    scores = sorted(((_percent(old_lines, new_lines), old, new) for old, old_lines in before.items()
                     for new, new_lines in after.items() if old_lines and new_lines), reverse=True)
    found: list[Rename] = []
    taken: set[tuple[str, bytes]] = set()
    for percent, old, new in scores:
        if percent < _ALIKE:
            break
        if ("-", old) not in taken and ("+", new) not in taken:
            taken |= {("-", old), ("+", new)}
            found.append(Rename(old, gone[old], new, come[new], percent))
    return found


def _lines(path: bytes, entry: TreeEntry, read: Read) -> dict[bytes, int]:
    """How often each line is there; none of what is binary or large."""
    data = read(path, entry, _MOST_BYTES) if entry.size <= _MOST_BYTES and entry.kind != b"l" else None
    found: dict[bytes, int] = {}
    for line in data.split(b"\n") if data and not is_binary(data) else ():
        found[line] = found.get(line, 0) + 1
    return found


def _percent(old: dict[bytes, int], new: dict[bytes, int]) -> int:
    """How many of the bytes, by whole lines, are on both sides."""
    common = sum(min(count, new.get(line, 0)) * (len(line) + 1) for line, count in old.items())
    most = max(sum(count * (len(line) + 1) for line, count in side.items()) for side in (old, new))
    return 100 * common // most
