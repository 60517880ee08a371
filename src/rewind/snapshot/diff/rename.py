"""Files that went under one name and came under another, as git decides it: the same content, else the most
similar one of which at least half is left."""

from __future__ import annotations

from collections import Counter

from rewind.snapshot.diff.textdiff import is_binary
from rewind.snapshot.trees.tree import DIR, LINK, UNCOVERED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rewind.snapshot.diff.compare import Read
    from rewind.snapshot.trees.tree import TreeEntry

    Changed = tuple[bytes, "TreeEntry | None", "TreeEntry | None"]

_LEAST = 0.5
_PIECE = 64  # bytes of a line that count as one piece
_MOST_FILES = 1000  # git looks at as many
_MOST_PAIRS = 400  # of a whole difference, which is only shown
_MOST_BYTES = 512 << 10


class Rename:
    def __init__(self, old: bytes, old_entry: TreeEntry, new: bytes, new_entry: TreeEntry,
                 percent: int) -> None:
        self.old = old
        self.old_entry = old_entry
        self.new = new
        self.new_entry = new_entry
        self.percent = percent


# of one file

def renamed_from(path: bytes, entry: TreeEntry, data: bytes, gone: list[tuple[bytes, TreeEntry]],
                 read: Callable[[TreeEntry], bytes]) -> bytes | None:
    """Which of the files that are not there any more this one was."""
    same = [old for old, found in gone if found.same_content(entry)]
    if same:
        return _namesake(same, path)
    content = Content(data)
    best, score = None, _LEAST
    for old, found in gone[:_MOST_FILES]:
        if not _could_be(found.size, len(data)):
            continue
        alike = content.alike(Content(read(found)))
        if alike > score or (alike == score and (best is None or _name(old) == _name(path))):
            best, score = old, alike
    return best


# of everything that changed

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
            at = _namesake(old, path)
            old.remove(at)
            found.append(Rename(at, gone[at], path, entry, 100))
    return found


def _alike(gone: dict[bytes, TreeEntry], come: dict[bytes, TreeEntry], read_old: Read,
           read_new: Read) -> list[Rename]:
    before = {path: _content(path, entry, read_old) for path, entry in gone.items()}
    after = {path: _content(path, entry, read_new) for path, entry in come.items()}
    scores = sorted(((one.alike(other), old, new) for old, one in before.items() if one
                     for new, other in after.items() if other), reverse=True)
    found: list[Rename] = []
    for score, old, new in scores:
        if score < _LEAST:
            break
        if old in gone and new in come:
            found.append(Rename(old, gone.pop(old), new, come.pop(new), int(100 * score)))
    return found


def _content(path: bytes, entry: TreeEntry, read: Read) -> Content | None:
    """None of what is binary or large."""
    data = read(path, entry, _MOST_BYTES) if entry.size <= _MOST_BYTES and entry.kind != LINK else None
    return Content(data) if data and not is_binary(data) else None


# of two files

class Content:
    """How many bytes of a file are which pieces. The ends of lines make no difference."""

    def __init__(self, data: bytes) -> None:
        self._size = len(data)
        self._pieces: Counter[bytes] = Counter()
        for line in data.replace(b"\r\n", b"\n").splitlines(keepends=True):
            for at in range(0, len(line), _PIECE):
                piece = line[at:at + _PIECE]
                self._pieces[piece] += len(piece)

    def alike(self, other: Content) -> float:
        """The share of the larger one that is in both."""
        return sum((self._pieces & other._pieces).values()) / max(self._size, other._size, 1)


def _could_be(one: int, other: int) -> bool:
    """Whether half of the larger one can be in the smaller one at all."""
    return bool(one and other) and min(one, other) >= max(one, other) * _LEAST


def _namesake(paths: list[bytes], path: bytes) -> bytes:
    """Of several the one that keeps its name."""
    return next((one for one in paths if _name(one) == _name(path)), paths[0])


def _name(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]
