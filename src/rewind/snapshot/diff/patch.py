"""A comparison as lines of a patch in git's format, with a remark if there is no text to show.

The lines are bytes, as `git apply` and `patch` need them. Control characters in them are not escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.snapshot.diff import compare as c
from rewind.snapshot.diff.textdiff import hunks
from rewind.snapshot.trees.tree import DIR, LINK
from rewind.words import size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rewind.snapshot.diff.compare import Comparison, Read
    from rewind.snapshot.diff.textdiff import Hunk
    from rewind.snapshot.trees.tree import TreeEntry

    Line = tuple[str, bytes]  # its kind, its text

# The kinds of lines; those of a text are the signs " ", "-" and "+".
HEAD, HUNK, REMARK, NOTE = "head", "hunk", "remark", "note"
_NO_NEWLINE = b"\\ No newline at end of file"
_ESCAPES = {0x07: b"\\a", 0x08: b"\\b", 0x09: b"\\t", 0x0A: b"\\n", 0x0B: b"\\v", 0x0C: b"\\f",
            0x0D: b"\\r", 0x22: b'\\"', 0x5C: b"\\\\"}


def comparisons(path: bytes, old: TreeEntry | None, new: TreeEntry | None, read_old: Read,
                read_new: Read) -> Iterator[Comparison]:
    """One comparison, or two if a file became a link or the reverse: a deletion and an addition."""
    if old and new and (old.kind == LINK) != (new.kind == LINK):
        yield c.compare(path, old, None, read_old, read_new)
        yield c.compare(path, None, new, read_old, read_new)
    else:
        yield c.compare(path, old, new, read_old, read_new)


def patch_lines(found: Comparison) -> Iterator[Line]:
    if found.verdict == c.DIRECTORY:
        yield HEAD, _directory(found)
        return
    if found.verdict in (c.TEXT, c.SAME) or _mode_lines(found):
        yield from _header(found)
    if found.verdict == c.TEXT:
        for hunk in hunks(found.old_lines, found.new_lines, found.blocks):
            yield from hunk_lines(hunk)
    elif found.verdict != c.SAME:
        yield REMARK, _remark(found)


def _header(found: Comparison) -> Iterator[Line]:
    old, new = quoted(b"a/" + found.path), quoted(b"b/" + found.path)
    yield HEAD, b"diff --git " + old + b" " + new
    for line in _mode_lines(found):
        yield HEAD, line
    if found.blocks:
        # Git ends such a name with a tab. Otherwise `patch` would cut it at the first space.
        tab = b"\t" if b" " in found.path else b""
        yield HEAD, b"--- " + (old + tab if found.old else b"/dev/null")
        yield HEAD, b"+++ " + (new + tab if found.new else b"/dev/null")


def _mode_lines(found: Comparison) -> list[bytes]:
    old, new = found.old, found.new
    if old is None and new is not None:
        return [b"new file mode " + _mode(new)]
    if new is None and old is not None:
        return [b"deleted file mode " + _mode(old)]
    if old and new and _mode(old) != _mode(new):
        return [b"old mode " + _mode(old), b"new mode " + _mode(new)]
    return []


def _mode(entry: TreeEntry) -> bytes:
    return b"120000" if entry.kind == LINK else b"100%03o" % entry.mode


def hunk_lines(hunk: Hunk) -> Iterator[Line]:
    yield HUNK, hunk.header()
    for sign, line in hunk.lines:
        if line.endswith(b"\n"):
            yield sign.decode(), sign + line[:-1]
        else:
            yield sign.decode(), sign + line
            yield NOTE, _NO_NEWLINE


def _remark(found: Comparison) -> bytes:
    sizes = describe_sizes(found.old, found.new)
    what, why = {c.BINARY: ("Binary file", ""),
                 c.LARGE: ("Large file", ", too large to be shown line by line"),
                 c.UNREADABLE: ("File", ", but cannot be read now")}[found.verdict]
    did = "added" if found.old is None else "deleted" if found.new is None else "changed"
    return b"%s %s %s (%s)%s" % (what.encode(), quoted(found.path), did.encode(), sizes.encode(),
                                 why.encode())


def describe_sizes(old: TreeEntry | None, new: TreeEntry | None) -> str:
    return " -> ".join(size(entry.size) for entry in (old, new) if entry)


def _directory(found: Comparison) -> bytes:
    old, new = found.old, found.new
    name = quoted(found.path + b"/")
    if old and new and old.kind == new.kind == DIR:
        return b"Directory %s changed its mode (%03o -> %03o)" % (name, old.mode, new.mode)
    return b"Empty directory " + name + (b" added" if new else b" deleted")


def quoted(path: bytes) -> bytes:
    """A name in the form that git writes, with quotes if it contains something that would break the line."""
    try:
        # This includes characters that change the direction of writing, or that some programs end a line at.
        plain = path.decode().isprintable() and not any(byte in _ESCAPES for byte in path)
    except UnicodeDecodeError:
        plain = False
    if plain:
        return path
    return b'"' + b"".join(_ESCAPES.get(byte) or (bytes([byte]) if 0x20 <= byte < 0x7F
                                                  else b"\\%03o" % byte) for byte in path) + b'"'
