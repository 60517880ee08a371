"""A transcript as lines, read from either end, and as the objects in them.

Real files have torn lines, two objects on one line, a BOM, CRLF. What cannot be parsed is skipped.
"""

from __future__ import annotations

import os
import stat

from rewind.errors import TranscriptNotFound, TranscriptUnreadable
from rewind.fast import quickjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from rewind.jsonfile import JsonObject

CHUNK = 256 << 10
_BOM = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"


class Event:
    """One JSON object of a transcript, and its place. `end` is where the next one may begin."""

    __slots__ = ("data", "end", "offset")

    def __init__(self, offset: int, end: int, data: JsonObject) -> None:
        self.offset = offset
        self.end = end
        self.data = data


def open_transcript(path: str, identity: tuple[int, int] | None = None) -> BinaryIO:
    """The file, for reading. A FIFO or a directory in its place is refused. With `identity`, so is every file
    but the one that was looked at before."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        raise TranscriptNotFound(path=path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TranscriptUnreadable(reason=reason, path=path)
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode):
        os.close(fd)
        raise TranscriptUnreadable(reason="it is not a regular file", path=path)
    if identity and identity != (info.st_dev, info.st_ino):
        os.close(fd)
        raise TranscriptUnreadable(reason="another file was put in its place just now", path=path)
    return os.fdopen(fd, "rb", buffering=0)


def stored(file: BinaryIO) -> BinaryIO:
    """The file itself, if the conversation is a view of it with other bytes (`oplog_view`)."""
    found: BinaryIO = getattr(file, "stored", file)
    return found


def identity_of(file: BinaryIO) -> tuple[int, int]:
    info = os.fstat(file.fileno())
    return info.st_dev, info.st_ino


def size_of(file: BinaryIO) -> int:
    joined: int | None = getattr(file, "joined_size", None)  # of a `VirtualFile`
    return os.fstat(file.fileno()).st_size if joined is None else joined


def read_at(file: BinaryIO, offset: int, count: int) -> bytes:
    """Exactly these bytes; fewer only at the end of the file."""
    joined: Callable[[int, int], bytes] | None = getattr(file, "read_joined", None)
    if joined is not None:
        return joined(offset, count)
    pieces = []
    while count > 0:
        piece = os.pread(file.fileno(), min(count, 8 << 20), offset)
        if not piece:
            break
        pieces.append(piece)
        offset += len(piece)
        count -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def lines_forward(file: BinaryIO, start: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """(offset, line with its newline) from `start` on. The last line may lack its newline."""
    end = size_of(file) if end is None else end
    at, rest, pieces = start, start, []
    while at < end:
        chunk = read_at(file, at, min(CHUNK, end - at))
        if not chunk:
            break
        at += len(chunk)
        head, newline, tail = chunk.rpartition(b"\n")
        if not newline:
            pieces.append(chunk)
            continue
        whole = b"".join([*pieces, head])
        for line in whole.split(b"\n"):
            yield rest, line + b"\n"
            rest += len(line) + 1
        pieces = [tail] if tail else []
    if pieces:
        yield rest, b"".join(pieces)


def lines_backward(file: BinaryIO, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """(offset, line with its newline) from the end to the beginning, in chunks of a fixed size."""
    at = size_of(file) if end is None else end
    pieces: list[bytes] = []  # of the line whose beginning is not read yet, last piece first
    while at > 0:
        start = max(0, at - CHUNK)
        chunk = read_at(file, start, at - start)
        if len(chunk) < at - start:
            return  # the file was truncated just now
        first, *others = chunk.split(b"\n")
        place = at
        for number, part in enumerate(reversed(others)):
            place -= len(part)
            line = b"".join([part, *reversed(pieces)]) if number == 0 else part + b"\n"
            if line:
                yield place, line
            place -= 1
        if others:
            pieces = []
            first += b"\n"
        pieces.append(first)
        at = start
    if any(pieces):
        yield 0, b"".join(reversed(pieces))


def parse(offset: int, raw: bytes) -> list[Event]:
    """The objects on a line: nearly always one; none if the line is torn or not JSON."""
    end = offset + len(raw)
    body = raw.strip(_SPACE)
    if not body:
        return []
    if offset == 0 and body.startswith(_BOM):
        body = body[len(_BOM):]
    try:
        data = quickjson.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return _glued(offset, raw, end)
    return [Event(offset, end, data)] if isinstance(data, dict) else []


def _glued(offset: int, raw: bytes, end: int) -> list[Event]:
    """`{…}{…}`, when a file without its last newline was appended to. Each object counts."""
    from json import JSONDecoder

    text = raw.decode("utf-8", "surrogateescape")
    decoder = JSONDecoder()
    found: list[Event] = []
    at, place = 0, offset  # in characters, and in bytes of the file
    while text[at:at + 1] == "{":
        try:
            data, stop = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        size = bytes_in(text[at:stop])
        found.append(Event(place, place + size, data))
        at, place = stop, place + size
        while text[at:at + 1].isspace():
            place += bytes_in(text[at])
            at += 1
    if found and at >= len(text):
        found[-1].end = end
    return found


def bytes_in(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def line_of(data: JsonObject) -> bytes:
    """As the agents write it: without blanks, and text as it is. (A lone surrogate is escaped.)"""
    from json import dumps

    try:
        return dumps(data, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    except UnicodeEncodeError:
        return dumps(data, separators=(",", ":")).encode() + b"\n"


def events_forward(file: BinaryIO, start: int = 0, end: int | None = None) -> Iterator[Event]:
    for offset, raw in lines_forward(file, start, end):
        yield from parse(offset, raw)


def events_backward(file: BinaryIO, end: int | None = None) -> Iterator[Event]:
    for offset, raw in lines_backward(file, end):
        yield from reversed(parse(offset, raw))


def end_of_lines(file: BinaryIO, end: int | None = None) -> int:
    """Where the last complete line ends. What follows is torn, or is still being written."""
    at = size_of(file) if end is None else end
    while at > 0:
        start = max(0, at - CHUNK)
        cut = read_at(file, start, at - start).rfind(b"\n")
        if cut >= 0:
            return start + cut + 1
        at = start
    return 0
