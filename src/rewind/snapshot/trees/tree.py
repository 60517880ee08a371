"""A directory as a checkpoint remembers it: entries by name, as one canonical blob.

`docs/format.md` specifies the bytes. The store may be hostile, so every name is checked here once, before any
other code sees it.
"""

from __future__ import annotations

import struct

from rewind.errors import StoreDamaged

FILE = b"f"  # content in one blob
CHUNKED = b"c"  # content in a list of blobs
LINK = b"l"  # a symbolic link; `ref` is its target
DIR = b"d"  # `ref` is the tree of the directory
UNCOVERED = b"u"  # present but not captured; `ref` is the reason
FILES = (FILE, CHUNKED)
KINDS = (FILE, CHUNKED, LINK, DIR, UNCOVERED)

_MAGIC = b"tree1 "
_COUNT = struct.Struct(">I")
_RECORD = struct.Struct(">cHQ32s")
_PIECE = struct.Struct(">Q32s")
_NO_ID = bytes(32)
# A case-insensitive file system takes `.GIT` for `.git`, whose hooks git would run.
_GIT_DIRS = frozenset(bytes((46, g, i, t)) for g in b"gG" for i in b"iI" for t in b"tT")
# A snapshot never contains these names: they would lead out of the tree or into git's own files.
_UNSAFE = _GIT_DIRS | {b"", b".", b".."}
MAX_DEPTH = 400  # nested directories; deeper ones are not captured, and a deeper tree is refused


class TreeEntry:
    """What a name stands for. Two entries are equal if restoring them has the same result."""

    __slots__ = ("kind", "mode", "ref", "size")

    def __init__(self, kind: bytes, mode: int, size: int, ref: bytes) -> None:
        self.kind = kind
        self.mode = mode
        self.size = size
        self.ref = ref

    def same_content(self, other: TreeEntry) -> bool:
        return self.kind == other.kind and self.ref == other.ref

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, TreeEntry) and self.ref == other.ref and self.kind == other.kind
                and self.mode == other.mode and self.size == other.size)

    def __hash__(self) -> int:
        return hash((self.kind, self.ref, self.mode))

    def __repr__(self) -> str:
        ref = self.ref if self.kind in (LINK, UNCOVERED) else self.ref.hex()[:8]
        return f"TreeEntry({self.kind.decode()} {self.mode:o} {self.size} {ref!r})"


class Tree:
    """The entries of one directory. If it may have others, `partial` is the reason why they are unknown."""

    __slots__ = ("entries", "partial")

    def __init__(self, entries: dict[bytes, TreeEntry], partial: bytes = b"") -> None:
        self.entries = entries
        self.partial = partial

    def differing(self, other: Tree) -> list[bytes]:
        """The names that do not stand for the same in both, in order. Nearly all entries are equal, so the
        comparison is written out here: a call for each would be slow."""
        others = other.entries
        found = [name for name in others if name not in self.entries]
        for name, a in self.entries.items():
            b = others.get(name)
            if b is None or a.ref != b.ref or a.mode != b.mode or a.kind != b.kind or a.size != b.size:
                found.append(name)
        return sorted(found)

    def encode(self) -> bytes:
        names = sorted(self.entries)
        if not _UNSAFE.isdisjoint(names):
            raise ValueError("a tree may not hold git's own files")  # it could never be read again
        entries = [self.entries[name] for name in names]
        inline = [e.ref for e in entries if e.kind in (LINK, UNCOVERED)]
        parts = [_MAGIC, self.partial, b"\n", _COUNT.pack(len(names))]
        for e in entries:
            ref = _NO_ID if e.kind in (LINK, UNCOVERED) else e.ref
            parts.append(_RECORD.pack(e.kind, e.mode, e.size, ref))
        for text in (*names, *inline):
            parts += (text, b"\0")
        return b"".join(parts)

    @classmethod
    def decode(cls, blob: bytes) -> Tree:
        try:
            return cls._decode(blob)
        except (ValueError, struct.error, IndexError) as error:
            raise StoreDamaged(what=f"a directory listing is malformed ({error})")

    @classmethod
    def _decode(cls, blob: bytes) -> Tree:
        line_end = blob.index(b"\n")
        if not blob.startswith(_MAGIC):
            raise ValueError("not a tree")
        (count,) = _COUNT.unpack_from(blob, line_end + 1)
        start = line_end + 1 + _COUNT.size
        end = start + count * _RECORD.size
        if end > len(blob):
            raise ValueError("cut short")
        texts = blob[end:].split(b"\0")
        entries: dict[bytes, TreeEntry] = {}
        previous = b""
        inline = count
        for i, (kind, mode, size, ref) in enumerate(_RECORD.iter_unpack(blob[start:end])):
            name = texts[i]
            if name <= previous or b"/" in name or name in _UNSAFE:
                raise ValueError(f"the name {name!r} may not be there")
            if kind in (LINK, UNCOVERED):
                ref = texts[inline]
                inline += 1
            elif kind not in KINDS:
                raise ValueError(f"unknown kind {kind!r}")
            entries[name] = TreeEntry(kind, mode & 0o7777, size, ref)
            previous = name
        if inline != len(texts) - 1:
            raise ValueError("trailing bytes")
        return cls(entries, blob[len(_MAGIC):line_end])


def with_trees(blob: bytes, trees: dict[bytes, bytes]) -> bytes:
    """The listing with other trees for some of its directories, otherwise unchanged."""
    try:
        at = blob.index(b"\n") + 1
        (count,) = _COUNT.unpack_from(blob, at)
        start = at + _COUNT.size
        names = blob[start + count * _RECORD.size:].split(b"\0", count)
        patched = bytearray(blob)
        for name, oid in trees.items():
            at = start + names.index(name, 0, count) * _RECORD.size
            kind, mode, size, _ = _RECORD.unpack_from(blob, at)
            if kind != DIR:
                raise ValueError(f"{name!r} is not a directory")
            _RECORD.pack_into(patched, at, kind, mode, size, oid)
        return bytes(patched)
    except (ValueError, struct.error) as error:
        raise StoreDamaged(what=f"a directory listing is malformed ({error})")


def unsafe_name(name: bytes) -> bool:
    return name in _UNSAFE


def is_git_dir(name: bytes) -> bool:
    return name in _GIT_DIRS


EMPTY = Tree({})
MISSING = b"missing"  # why a tree is partial that could not be repaired completely


def check_depth(folder: bytes) -> None:
    if folder.count(b"/") >= MAX_DEPTH:
        raise StoreDamaged(what="its directories are nested deeper than any project's")


def encode_pieces(pieces: list[tuple[int, bytes]]) -> bytes:
    """The blob of a CHUNKED entry: length and name of each piece, in order."""
    return b"".join(_PIECE.pack(size, oid) for size, oid in pieces)


def decode_pieces(blob: bytes) -> list[tuple[int, bytes]]:
    if len(blob) % _PIECE.size:
        raise StoreDamaged(what="a list of chunks is malformed")
    return list(_PIECE.iter_unpack(blob))
