"""Renamed files, found as git finds them: a deleted and an added file with the same content, else the most
similar ones that share at least half of it."""

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
_MOST_FILES = 1000  # the same limit as git's
_MOST_PAIRS = 400  # when all changes are compared, which is only for display
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
    """Which of the deleted files this one was before."""
    same = [old for old, found in gone if found.same_content(entry)]
    if same:
        return _namesake(same, path)
    content = Content(data)
    best, score = None, _LEAST
    for old, found in gone[:_MOST_FILES]:
        if not _could_be(found.size, len(data)):
            continue
        similarity = content.similarity(Content(read(found)))
        if similarity > score or (similarity == score and (best is None or _name(old) == _name(path))):
            best, score = old, similarity
    return best


# of everything that changed

def find_renames(changes: list[Changed], read_old: Read, read_new: Read) -> list[Rename]:
    """Each file is used once. Identical content comes first, then the most similar."""
    gone = {path: old for path, old, new in changes if old and new is None and _can_be_renamed(old)}
    added = {path: new for path, old, new in changes if new and old is None and _can_be_renamed(new)}
    found = _identical_files(gone, added)
    for one in found:
        del gone[one.old], added[one.new]
    if gone and added and len(gone) * len(added) <= _MOST_PAIRS:
        found += _similar_files(gone, added, read_old, read_new)
    return sorted(found, key=lambda one: one.new)


def _can_be_renamed(entry: TreeEntry) -> bool:
    return entry.kind not in (DIR, UNCOVERED) and entry.size > 0


def _identical_files(gone: dict[bytes, TreeEntry], added: dict[bytes, TreeEntry]) -> list[Rename]:
    by_content: dict[tuple[bytes, bytes], list[bytes]] = {}
    for path, entry in gone.items():
        by_content.setdefault((entry.kind, entry.ref), []).append(path)
    found = []
    for path, entry in added.items():
        old = by_content.get((entry.kind, entry.ref))
        if old:
            at = _namesake(old, path)
            old.remove(at)
            found.append(Rename(at, gone[at], path, entry, 100))
    return found


def _similar_files(gone: dict[bytes, TreeEntry], added: dict[bytes, TreeEntry], read_old: Read,
                   read_new: Read) -> list[Rename]:
    before = {path: _content(path, entry, read_old) for path, entry in gone.items()}
    after = {path: _content(path, entry, read_new) for path, entry in added.items()}
    scores = sorted(((one.similarity(other), old, new) for old, one in before.items() if one
                     for new, other in after.items() if other), reverse=True)
    found: list[Rename] = []
    for score, old, new in scores:
        if score < _LEAST:
            break
        if old in gone and new in added:
            found.append(Rename(old, gone.pop(old), new, added.pop(new), int(100 * score)))
    return found


def _content(path: bytes, entry: TreeEntry, read: Read) -> Content | None:
    """None if it is binary or large."""
    data = read(path, entry, _MOST_BYTES) if entry.size <= _MOST_BYTES and entry.kind != LINK else None
    return Content(data) if data and not is_binary(data) else None


# of two files

class Content:
    """How many bytes of a file each piece makes up. Line endings make no difference."""

    def __init__(self, data: bytes) -> None:
        self._size = len(data)
        self._pieces: Counter[bytes] = Counter()
        for line in data.replace(b"\r\n", b"\n").splitlines(keepends=True):
            for at in range(0, len(line), _PIECE):
                piece = line[at:at + _PIECE]
                self._pieces[piece] += len(piece)

    def similarity(self, other: Content) -> float:
        """The share of the larger file that is in both."""
        return sum((self._pieces & other._pieces).values()) / max(self._size, other._size, 1)


def _could_be(one: int, other: int) -> bool:
    """Whether the sizes allow that half of the larger file is in the smaller one."""
    return bool(one and other) and min(one, other) >= max(one, other) * _LEAST


def _namesake(paths: list[bytes], path: bytes) -> bytes:
    """The first with the same name in another directory, else the first."""
    return next((one for one in paths if _name(one) == _name(path)), paths[0])


def _name(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]
