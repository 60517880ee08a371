"""Writes a tar.gz whose bytes depend only on its members, and reads one from a stranger.

`tarfile` is not used: its output differs between versions of Python. It also cuts a name or a link's target
at a zero byte, takes a damaged header for the end of the archive, and loads a long name into memory before
anyone can refuse it.
"""

from __future__ import annotations

import struct
import zlib

from rewind.errors import ArchiveRefused, RewindError
from rewind.fast.sha256 import sha256
from rewind.store.inflate import STEP, Inflated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO, NoReturn

FILE, DIR, LINK = b"0", b"5", b"2"  # tar's own letters
MAX_NAME = 64 << 10  # longer than any path or link target that a system call takes
MAX_MEMBERS = 2_000_000

_LEVEL = 6
_BLOCK = 512
_RECORD = 20 * _BLOCK  # tar pads its files to this
# name, mode, uid, gid, size, mtime, checksum, type, target, magic, owner, group, device, prefix
_HEADER = struct.Struct("100s8s8s8s12s12s8s1s100s8s32s32s16s155s12x")
_CHECKSUM = slice(148, 156)
_GNU, _POSIX = b"ustar  \0", b"ustar\00000"
_LONG_NAME, _LONG_TARGET = b"L", b"K"
_GZIP_START = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"  # no time, no name, no operating system
_KNOWN_KINDS = {b"1": "a hard link", b"3": "a device", b"4": "a device", b"6": "a FIFO"}


class ArchiveWriter:
    """Writes members in the order given. Readers refuse a file that was not finished with `close`."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, -15)
        self._crc = 0
        self._size = 0
        self._members = 0
        file.write(_GZIP_START)

    def add_file(self, name: bytes, mode: int, size: int, pieces: Iterable[bytes]) -> None:
        self._start(FILE, name, mode, size)
        written = 0
        for piece in pieces:
            self._write(piece)
            written += len(piece)
        if written != size:
            raise ValueError(f"{written} bytes where {size} were announced")
        self._pad(_BLOCK)

    def add_dir(self, name: bytes, mode: int) -> None:
        self._start(DIR, name + b"/", mode)

    def add_link(self, name: bytes, target: bytes) -> None:
        self._start(LINK, name, 0o777, target=target)

    def close(self) -> None:
        self._write(bytes(2 * _BLOCK))
        self._pad(_RECORD)
        self._file.write(self._deflate.flush())
        self._file.write(struct.pack("<II", self._crc, self._size & 0xFFFFFFFF))

    def _start(self, kind: bytes, name: bytes, mode: int, size: int = 0,
               target: bytes = b"") -> None:
        self._members += 1
        if self._members > MAX_MEMBERS or max(len(name), len(target)) >= MAX_NAME:
            # A reader would refuse it, and a checkpoint must be readable.
            raise RewindError(f"An archive holds at most {MAX_MEMBERS} members, with names of less"
                              f" than {MAX_NAME} bytes.")
        for letter, text in ((_LONG_TARGET, target), (_LONG_NAME, name)):
            if len(text) > 100:
                self._write(_pack_header(letter, b"././@LongLink", 0, len(text) + 1))
                self._write(text + b"\0")
                self._pad(_BLOCK)
        self._write(_pack_header(kind, name[:100], mode, size, target[:100]))

    def _write(self, data: bytes) -> None:
        self._crc = zlib.crc32(data, self._crc)
        self._size += len(data)
        self._file.write(self._deflate.compress(data))

    def _pad(self, unit: int) -> None:
        self._write(bytes(-self._size % unit))


def _pack_header(kind: bytes, name: bytes, mode: int, size: int, target: bytes = b"") -> bytes:
    zero = b"0000000\0"
    length = b"%011o\0" % size if size < 8 ** 11 else b"\x80" + size.to_bytes(11, "big")
    header = _HEADER.pack(name, b"%07o\0" % mode, zero, zero, length, b"00000000000\0", b" " * 8,
                          kind, target, _GNU, b"", b"", b"", b"")
    return header[:148] + b"%06o\0 " % sum(header) + header[156:]


class Member:
    """One entry of an archive. Its content can be read until the reader goes on to the next member."""

    __slots__ = ("_source", "kind", "left", "mode", "name", "size", "target")

    def __init__(self, kind: bytes, name: bytes, mode: int, size: int, target: bytes,
                 source: ArchiveReader) -> None:
        self.kind = kind
        self.name = name
        self.mode = mode
        self.size = size
        self.target = target
        self.left = size
        self._source = source

    def read(self, size: int) -> bytes:
        """The next `size` bytes of the content; fewer only at its end."""
        data = self._source.take(min(size, self.left), self.name)
        self.left -= len(data)
        return data


class ArchiveReader:
    """Yields the members of an untrusted archive; raises ArchiveRefused at the first offence.

    `forbidden` says which parts of a name are not allowed. Links must stay inside `top`. A directory must
    come before its members, so that nothing can lie below a link or a file.
    """

    def __init__(self, file: BinaryIO, label: str, *, forbidden: Callable[[bytes], bool],
                 top: bytes = b"", allow_links_out: bool = False,
                 max_bytes: int | None = None) -> None:
        self._label = label
        self._forbidden = forbidden
        self._top = top
        self._allow_links_out = allow_links_out
        self._stream = Inflated(file, max_bytes, self.refuse)
        self._seen: dict[bytes, bytes] = {}  # the hash of a name, which is always short -> kind

    def refuse(self, reason: str) -> NoReturn:
        raise ArchiveRefused(file=self._label, reason=reason)

    def take(self, size: int, name: bytes) -> bytes:
        data = self._stream.read(size)
        if len(data) < size:
            self.refuse(f"it is cut short in {shown(name)}.")
        return data

    def __iter__(self) -> Iterator[Member]:
        while True:
            member = self._next()
            if member is None:
                return
            yield member
            self._skip(member.left + -member.size % _BLOCK, member.name)

    def _skip(self, size: int, name: bytes) -> None:
        while size:
            size -= len(self.take(min(size, STEP), name))

    def _next(self) -> Member | None:
        long: dict[bytes, bytes] = {}
        while True:
            header = self._header()
            if header is None:
                if long:
                    self.refuse("it ends where a member should follow.")
                return None
            kind, name, mode, size, target = header
            if kind not in (_LONG_NAME, _LONG_TARGET):
                name, target = long.get(_LONG_NAME, name), long.get(_LONG_TARGET, target)
                return self._checked(Member(kind, name, mode, size, target, self))
            if kind in long:
                self.refuse("two long names follow each other.")
            long[kind] = self._long_text(size)

    def _header(self) -> tuple[bytes, bytes, int, int, bytes] | None:
        block = self._stream.read(_BLOCK)
        if len(block) < _BLOCK:
            self.refuse("it is cut short." if self._seen else "it is not a tar.gz file.")
        if not any(block):
            self._end()
            return None
        name, mode, _, _, size, _, checksum, kind, target, magic, *_, prefix = _HEADER.unpack(block)
        total = sum(block) - sum(block[_CHECKSUM]) + 8 * 0x20
        if magic not in (_GNU, _POSIX) or _number(checksum) != total:
            self.refuse("a header in it is damaged." if self._seen else "it is not a tar.gz file.")
        name, target, prefix = (text.rstrip(b"\0") for text in (name, target, prefix))
        if magic == _POSIX and prefix:
            name = prefix + b"/" + name
        count, bits = _number(size), _number(mode)
        if count is None or bits is None:
            self.refuse(f"the header of {shown(name)} is damaged.")
        if count > self._stream.left:
            self._stream.bomb()
        return (FILE if kind == b"\0" else kind), name, bits & 0o7777, count, target

    def _end(self) -> None:
        if self._stream.read(_BLOCK) != bytes(_BLOCK):
            self.refuse("it is cut short.")
        while True:
            rest = self._stream.read(STEP)
            if rest.strip(b"\0"):
                self.refuse("something follows after its end.")
            if not rest:
                return

    def _long_text(self, size: int) -> bytes:
        if size > MAX_NAME:
            self.refuse(f"a name in it is {size} bytes long.")
        text = self.take(size, b"a long name")
        self._skip(-size % _BLOCK, b"a long name")
        return text[:-1] if text.endswith(b"\0") else text

    # what is not allowed

    def _checked(self, member: Member) -> Member:
        if member.kind == DIR and member.name.endswith(b"/"):
            member.name = member.name[:-1]
        if member.kind not in (FILE, DIR, LINK):
            what = _KNOWN_KINDS.get(member.kind) or f"of an unknown kind ({shown(member.kind)})"
            self.refuse(f"{shown(member.name)} is {what}.")
        if member.kind != FILE and member.size:
            self.refuse(f"{shown(member.name)} has content but is not a file.")
        self._check_name(member.name)
        self._check_place(member)
        if member.kind == LINK:
            self._check_link(member)
        return member

    def _check_name(self, name: bytes) -> None:
        if b"\0" in name:
            self.refuse(f"the name {shown(name)} has a zero byte in it.")
        if name.startswith(b"/"):
            self.refuse(f"the name {shown(name)} is absolute.")
        for part in name.split(b"/"):
            if part in (b"", b".", b".."):
                self.refuse(f"the name {shown(name)} has {shown(part)} in it.")
            if self._forbidden(part):
                self.refuse(f"the name {shown(name)} has {shown(part)} in it, which is off limits.")

    def _check_place(self, member: Member) -> None:
        key = sha256(member.name)
        if key in self._seen:
            self.refuse(f"{shown(member.name)} is in it twice.")
        folder = member.name.rpartition(b"/")[0]
        above = self._seen.get(sha256(folder)) if folder else DIR
        if above != DIR:
            where = {FILE: "below a file", LINK: "below a link"}.get(above or b"", "in no directory")
            self.refuse(f"{shown(member.name)} lies {where}.")
        if len(self._seen) >= MAX_MEMBERS:
            self.refuse(f"it holds more than {MAX_MEMBERS} members.")
        self._seen[key] = member.kind

    def _check_link(self, member: Member) -> None:
        if not member.target or b"\0" in member.target:
            self.refuse(f"the target of the link {shown(member.name)} is malformed.")
        if self._allow_links_out:
            return
        name = member.name
        if self._top and name.startswith(self._top + b"/"):
            name = name[len(self._top) + 1:]
        if leads_out(name, member.target):
            self.refuse(f"the link {shown(member.name)} leads out of the tree,"
                        f" to {shown(member.target)}.")


def leads_out(name: bytes, target: bytes) -> bool:
    """Whether a link at `name` may lead out of the tree that the name is relative to."""
    parts = [part for part in target.split(b"/") if part not in (b"", b".")]
    ups = 0
    while ups < len(parts) and parts[ups] == b"..":
        ups += 1
    # `..` after a name is where lexical checks fail: the name may be a link to another depth.
    return target.startswith(b"/") or ups > name.count(b"/") or b".." in parts[ups:]


def _number(field: bytes) -> int | None:
    """A number in octal digits, or in binary if the first bit is set."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if digits.strip(b"01234567"):
        return None
    return int(digits or b"0", 8)


def shown(name: bytes) -> str:
    """A stranger's name as a message can show it: without control characters, and not too long."""
    text = name.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 200 else text[:200] + "…")
