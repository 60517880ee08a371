"""A transcript in the store: line 1 on its own, then the body as a chain of what was appended each time.

So a checkpoint of a conversation of 200 MB costs only what was said since the last one, even if the agent has
rewritten line 1. Each link of the chain is an object; `docs/format.md` describes its fields.
"""

from __future__ import annotations

import os

from rewind.checkpoint.conversations.links import FILE, Link, body_of, header_of, links_of, snapshot_of
from rewind.errors import RewindError, StoreDamaged
from rewind.fast import quickjson
from rewind.files import PRIVATE_FILE, write_all
from rewind.store.blobs import CHUNK
from rewind.transcript.names import session_id_of
from rewind.transcript.place.cursor import SAMPLE, head_of, header_length, make_cursor, mark_of, tail_of
from rewind.transcript.read.conversation import open_conversation
from rewind.transcript.read.lines import end_of_lines, open_transcript, read_at, stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from rewind.agents.profile import Profile
    from rewind.checkpoint.conversations.links import LinkData
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.records.record import Record, StoredConversation, Transcript
    from rewind.store.objects import ObjectStore
    from rewind.transcript.place.cursor import Mark

_PATIENCE = 3


class Captured:
    """A conversation that is in the store, before its checkpoint has a record."""

    def __init__(self, data: Transcript, top: bytes, file: str | None = None) -> None:
        self.top = top  # line 1, as it was when the rest was read
        self.data = data  # the record's field `transcript`
        self._file = file  # copied as a whole if the checkpoint is an archive

    def write_beside(self, state: State, name: str) -> None:
        """Write the file of an archive into the checkpoint's directory. Called before the record names it."""
        if self._file:
            _write_gz(self._file, state.files.path(name, FILE), self.data["snapshot"]["bytes"])

    def remember(self, state: State) -> None:
        """Called after the record is written, so that the next capture finds the chain at once."""
        body = self.data["snapshot"].get("body")
        if body:
            state.derived.write([("INSERT OR REPLACE INTO facts VALUES(?, ?)",
                                  [(f"chat {self.data['sessionId']}", bytes.fromhex(body))])])


def capture(state: State, path: str, profile: Profile, end: int | None = None) -> Captured | None:
    """Store what is new in a transcript, up to its last complete line, or the last one before `end`. The
    caller holds the lock."""
    with open_conversation(path, profile) as opened:
        file = stored(opened)
        for _ in range(_PATIENCE):
            captured = _capture(state, file, path, profile, end)
            # Droid rewrites line 1 in place. If that moved the body during the capture, capture again.
            if captured is None or read_at(file, 0, len(captured.top)) == captured.top:
                return captured
    return captured


def _capture(state: State, file: BinaryIO, path: str, profile: Profile,
             end: int | None = None) -> Captured | None:
    top = read_at(file, 0, header_length(file))  # read first, to notice whether the body moved
    header, end = len(top), end_of_lines(file, end)
    if not end:
        return None
    session_id = session_id_of(path, profile)
    data: Transcript = {"agent": profile.name, "original_path": path, "sessionId": session_id}
    mark = mark_of(file, end, header)
    is_archive = state.settings.get("storage.format") == "archive"
    if is_archive:
        data["snapshot"], lines = {"file": FILE, "bytes": end}, _count_lines(file, 0, end)
    else:
        data["snapshot"], lines = _store(state, file, session_id, top, mark)
    data["cursor"] = make_cursor(file, profile, mark, lines)
    return Captured(data, top, path if is_archive else None)


def _store(state: State, file: BinaryIO, session_id: str, top: bytes,
           mark: Mark) -> tuple[StoredConversation, int]:
    """Store what is new. A link contains hashes of the same bytes as the mark, so they are hashed only
    once."""
    store, header, end = state.objects, len(top), mark["byte_offset_end"]
    last = _continues(state, file, session_id, header, mark)
    start = header + last.end if last else header
    lines = int(last.data["lines"]) if last else 0
    if last is None or start < end:
        pieces = []
        for at in range(start, end, CHUNK):
            piece = read_at(file, at, min(CHUNK, end - at))
            lines += piece.count(b"\n")
            pieces.append(store.put(piece).hex())
        data: LinkData = {
            "parent": last.oid.hex() if last else None, "start": start - header, "end": end - header,
            "pieces": pieces, "lines": lines, "head": mark["body_sha256"], "tail": mark["tail_sha256"]}
        last = Link(store.put(quickjson.dumps(data).encode()), data)
    return ({"header": store.put(top).hex(), "body": last.oid.hex(), "bytes": end}, lines + (header > 0))


def _continues(state: State, file: BinaryIO, session_id: str, header: int,
               mark: Mark) -> Link | None:
    """The latest stored link whose conversation this file still begins with."""
    known = _latest_link(state, session_id)
    if known is None:
        # A fork begins with the bytes of its parent.
        try:
            parent = state.forks().parent_of(session_id)
        except RewindError:
            parent = None  # then all of it is stored
        known = _latest_link(state, parent) if parent else None
    if known is None:
        return None
    try:
        if state.objects.lost and _lacks_something(state.objects, known):
            return None  # a chain that is damaged is not continued
        for link in links_of(state.objects, known):
            at = header + link.end
            head = mark["body_sha256"] if link.end >= SAMPLE else head_of(file, header, at)
            if (at <= mark["byte_offset_end"] and link.data["head"] == head
                    and link.data["tail"] == tail_of(file, header, at)):
                return link
    except StoreDamaged:
        pass  # then all of it is stored again
    return None


def _lacks_something(store: ObjectStore, body: bytes) -> bool:
    return any(store.lost.intersection([link.oid, *link.pieces]) for link in links_of(store, body))


def _latest_link(state: State, session_id: str) -> bytes | None:
    rows = state.derived.query("SELECT value FROM facts WHERE key=?", (f"chat {session_id}",))
    if rows and isinstance(rows[0][0], bytes) and state.objects.has(rows[0][0]):
        return rows[0][0]
    for record in reversed(state.timeline.all()):
        found = body_of(record)
        if found and record.data["transcript"].get("sessionId") == session_id and state.objects.has(found):
            return found
    return None


def _count_lines(file: BinaryIO, start: int, end: int) -> int:
    count = 0
    for at in range(start, end, CHUNK):
        count += read_at(file, at, min(CHUNK, end - at)).count(b"\n")
    return count


def _write_gz(path: str, target: str, end: int) -> None:
    """Write the transcript of a checkpoint that is an archive."""
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    try:
        write_gz(path, fd, end)
        os.fsync(fd)
    finally:
        os.close(fd)


def write_gz(path: str, fd: int, end: int) -> None:
    """The first `end` bytes of a transcript, deterministic: no name, no time."""
    import gzip

    with open_transcript(path) as file, open(os.dup(fd), "wb") as raw, \
            gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6) as out:
        for at in range(0, end, CHUNK):
            out.write(read_at(file, at, min(CHUNK, end - at)))


# reading it back

def write_out(state: State, record: Record, fd: int) -> None:
    """The transcript as it was at this checkpoint, byte for byte."""
    snapshot = snapshot_of(record)
    if snapshot is None:
        raise StoreDamaged(what=f"{record.name} holds no conversation")
    if snapshot.get("file"):
        _write_out_gz(state, record, fd)
        return
    for piece in _pieces(state.objects, record):
        write_all(fd, piece)


def _pieces(store: ObjectStore, record: Record) -> Iterator[bytes]:
    header, body = header_of(record), body_of(record)
    if header is None or body is None:
        raise StoreDamaged(what=f"the conversation of {record.name} is not readable")
    yield store.get(header)
    for link in reversed(list(links_of(store, body))):
        for piece in link.pieces:
            yield store.get(piece)


def _write_out_gz(state: State, record: Record, fd: int) -> None:
    import gzip
    import zlib

    path = state.files.path(record.name, FILE)
    most = (snapshot_of(record) or {}).get("bytes")
    left = most if isinstance(most, int) else 0
    try:
        with gzip.open(path, "rb") as file:
            while left > 0:
                piece = file.read(min(1 << 20, left))
                if not piece:
                    break
                write_all(fd, piece)
                left -= len(piece)
            # gzip compares the checksum only when it reads the end.
            if file.read(1):
                raise StoreDamaged(what=f"{path} is longer than its record says")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise StoreDamaged(what=f"{path} does not unpack ({error})")
    except FileNotFoundError:
        raise StoreDamaged(what=f"{path} is missing")
    if left:
        raise StoreDamaged(what=f"{path} is shorter than its record says")
