"""Finds lost parts of a conversation in transcripts, their backups and forks. The hash tells whether a part
is right."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from rewind.checkpoint.conversations.bring_back import BACKUPS
from rewind.checkpoint.conversations.links import Link, body_of, read_link, snapshot_of
from rewind.checkpoint.records.record import Record, cursor_of
from rewind.errors import RewindError
from rewind.fast import quickjson
from rewind.store.blobs import CHUNK, oid_of
from rewind.transcript.find import project_sessions
from rewind.transcript.place.cursor import head_of, header_length, tail_of
from rewind.transcript.read.lines import open_transcript, read_at, size_of

if TYPE_CHECKING:
    from rewind.checkpoint.project.state import State
    from rewind.checkpoint.repair.rescue import Keep
    from rewind.store.blobs import Blobs


def transcripts(state: State) -> Iterator[str]:
    """Every file that may hold conversations of this project; the agents' own come first."""
    try:
        yield from (session.path for session in project_sessions(state.area(), home=state.project.home))
    except RewindError:
        pass
    for top in (state.project.path(BACKUPS), state.project.path("trash")):
        for folder, _, names in os.walk(top):
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".jsonl"))


def from_transcripts(state: State, records: list[Record], blobs: Blobs, wanted: dict[bytes, str],
                     keep: Keep) -> None:
    links, ends = _known(records, blobs)
    for path in transcripts(state):
        if not wanted:
            return
        try:
            with open_transcript(path) as file:
                _search(file, links, ends, wanted, keep)
        except (RewindError, OSError):
            continue


def _known(records: list[Record], blobs: Blobs) -> tuple[list[Link], dict[bytes, int]]:
    """The readable links, and the end of every link that a record or another link names."""
    links: dict[bytes, Link] = {}
    ends: dict[bytes, int] = {}
    for record in records:
        at, end = body_of(record), _end_of_body(record)
        while at is not None and at not in links:
            if end is not None:
                ends.setdefault(at, end)
            try:
                link = read_link(blobs, at)
            except RewindError:
                break
            links[at], ends[at] = link, link.end
            at, end = link.parent, link.start
    return list(links.values()), ends


def _end_of_body(record: Record) -> int | None:
    size = (snapshot_of(record) or {}).get("bytes")
    header = cursor_of(record).get("header_bytes")
    return size - header if isinstance(size, int) and isinstance(header, int) else None


def _search(file: BinaryIO, links: list[Link], ends: dict[bytes, int], wanted: dict[bytes, str],
            keep: Keep) -> None:
    header = header_length(file)
    _offer(read_at(file, 0, header), wanted, keep)
    for link in links:
        for number, oid in enumerate(link.pieces):
            if oid in wanted:
                at = link.start + number * CHUNK
                _offer(read_at(file, header + at, min(CHUNK, link.end - at)), wanted, keep)
    for oid, end in ends.items():
        if oid in wanted and header + end <= size_of(file):
            _rebuild(file, header, oid, end, ends, keep)


def _offer(data: bytes, wanted: dict[bytes, str], keep: Keep) -> None:
    oid = oid_of(data)
    if oid in wanted:
        keep(oid, data, "from the transcript")


def _rebuild(file: BinaryIO, header: int, oid: bytes, end: int, ends: dict[bytes, int],
             keep: Keep) -> None:
    """Computes a link from the transcript. Only its parent is unknown, so every possible parent is tried."""
    lines = sum(read_at(file, header + at, min(CHUNK, end - at)).count(b"\n") for at in range(0, end, CHUNK))
    before: list[tuple[bytes | None, int]] = [(None, 0)]
    before += [(other, at) for other, at in ends.items() if at < end]
    for parent, start in before:
        pieces = [oid_of(read_at(file, header + at, min(CHUNK, end - at))).hex()
                  for at in range(start, end, CHUNK)]
        data = {"parent": parent.hex() if parent else None, "start": start, "end": end, "pieces": pieces,
                "lines": lines, "head": head_of(file, header, header + end),
                "tail": tail_of(file, header, header + end)}
        made = quickjson.dumps(data).encode()
        if oid_of(made) == oid:
            keep(oid, made, "from the transcript")
            return
