"""One path of a shared checkpoint, and the JSON that stands for it.

`decode_entry` reads what a stranger wrote, so it checks every path, link and number.

    ["f", PATH, MODE, SIZE, DIGEST]   a file
    ["l", PATH, TARGET]               a symbolic link
    ["d", PATH, MODE]                 a directory; with a REASON as well, one that is not listed in full
    ["u", PATH, REASON]               left out
    ["x", PATH]                       deleted since the parent
"""

from __future__ import annotations

from typing import Any

from rewind.checkpoint.records.record import is_hex
from rewind.checkpoint.share.giving.left_out import is_own
from rewind.checkpoint.share.path_names import text_of
from rewind.snapshot.trees.tree import (
    CHUNKED,
    DIR,
    FILE,
    LINK,
    MAX_DEPTH,
    UNCOVERED,
    TreeEntry,
    is_git_dir,
    unsafe_name,
)
from rewind.store.blobs import CHUNK

_LENGTHS = {"f": (5,), "l": (3,), "d": (3, 4), "u": (3,), "x": (2,)}
_REASON = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_LONGEST_NAME = 255
MAX_SIZE = 1 << 42
FORMAT = 1  # of all that is shared or pushed


class SharedEntry:
    """A path and its entry, which is None if the path was deleted. `partial` says why not all of a directory
    is listed. A directory that was decoded has no tree yet: its entries follow."""

    __slots__ = ("entry", "partial", "path")

    def __init__(self, path: bytes, entry: TreeEntry | None, partial: bytes = b"") -> None:
        self.path = path
        self.entry = entry
        self.partial = partial


def encode_entry(shared: SharedEntry) -> list[Any]:
    path, entry = text_of(shared.path), shared.entry
    if entry is None:
        return ["x", path]
    if entry.kind == UNCOVERED:
        return ["u", path, entry.ref.decode("ascii", "replace")]
    if entry.kind == LINK:
        return ["l", path, text_of(entry.ref)]
    if entry.kind == DIR:
        partial = [shared.partial.decode("ascii", "replace")] if shared.partial else []
        return ["d", path, entry.mode, *partial]
    return ["f", path, entry.mode, entry.size, entry.ref.hex()]


def decode_entry(value: Any) -> SharedEntry:
    """Raises ValueError with the reason if the entry is refused."""
    if not isinstance(value, list) or not value or not isinstance(value[0], str):
        raise ValueError("an entry of it is malformed")
    letter = value[0]
    if len(value) not in _LENGTHS.get(letter, ()):
        raise ValueError(f"an entry of it has the unknown kind {letter!a:.20}")
    path = _path(value[1], may_be_top=letter == "d" and len(value) == 4)
    if letter == "x":
        return SharedEntry(path, None)
    if letter == "u":
        return SharedEntry(path, TreeEntry(UNCOVERED, 0, 0, _reason(value[2])))
    if letter == "l":
        return SharedEntry(path, _link(path, value[2]))
    mode = _number(value[2], 0o7777)
    if letter == "d":
        return SharedEntry(path, TreeEntry(DIR, mode, 0, b""), _reason(value[3]) if len(value) == 4 else b"")
    size = _number(value[3], MAX_SIZE)
    return SharedEntry(path, TreeEntry(FILE if size <= CHUNK else CHUNKED, mode, size, digest_of(value[4])))


def _path(value: Any, may_be_top: bool) -> bytes:
    path = bytes_of(value)
    if not path and may_be_top:
        return path
    if path.startswith(b"/"):
        raise ValueError(f"the path {value!a:.200} is absolute")
    parts = path.split(b"/")
    if b"\0" in path or any(map(unsafe_name, parts)):
        raise ValueError(f"the path {value!a:.200} is not allowed")
    if is_own(path):
        raise ValueError(f"the path {value!a:.200} belongs to Rewind itself")
    if len(parts) > MAX_DEPTH + 1 or max(map(len, parts)) > _LONGEST_NAME:
        raise ValueError(f"the path {value!a:.200} is too long")
    return path


def _link(path: bytes, value: Any) -> TreeEntry:
    from rewind.store.archive import MAX_NAME, leads_out

    target = bytes_of(value)
    if not target or b"\0" in target or len(target) >= MAX_NAME:
        raise ValueError(f"the target of the link {text_of(path)!a:.200} is malformed")
    if leads_out(path, target):
        raise ValueError(f"the link {text_of(path)!a:.200} leads out of the tree, to {value!a:.200}")
    if any(is_git_dir(part) for part in target.split(b"/")):
        raise ValueError(f"the link {text_of(path)!a:.200} leads to git's own files")
    return TreeEntry(LINK, 0, len(target), target)


def _reason(value: Any) -> bytes:
    if not isinstance(value, str) or not 0 < len(value) <= 64 or not _REASON.issuperset(value):
        raise ValueError("a reason in it is malformed")
    return value.encode()


def _number(value: Any, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"the number {value!a:.40} in it is out of range")
    return int(value)


def digest_of(value: Any) -> bytes:
    if not is_hex(value, 64):
        raise ValueError("an id of content in it is malformed")
    return bytes.fromhex(value)


def bytes_of(value: Any) -> bytes:
    if not isinstance(value, str):
        raise ValueError("a path in it is not a text")
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ValueError(f"the path {value!a:.200} is malformed")
