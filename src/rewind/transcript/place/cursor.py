"""A place in a transcript: an offset, and fingerprints that show whether it is still the same file.

The agent may rewrite line 1 in place (Droid's title), which moves everything after it. So the body, which is
all but line 1, has its own fingerprint.
"""

from __future__ import annotations

from rewind.agents.profile import pick
from rewind.fast.sha256 import sha256
from rewind.transcript.read.lines import events_backward, lines_forward, parse, read_at, size_of, stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO, TypedDict

    from rewind.agents.profile import Profile
    from rewind.jsonfile import JsonObject

    class Mark(TypedDict):
        """How a place is recognised: its offset, and hashes of bytes before it (`docs/format.md`)."""

        byte_offset_end: int
        prefix_sha256: str
        tail_sha256: str
        header_bytes: int
        body_sha256: str

    class Cursor(Mark):
        """The same for the place where a checkpoint's part of the conversation ends."""

        line_count: int
        last_event_id: str | None

SAMPLE = 64 << 10
_LOOKED_AT = 1 << 20  # how far back the last id is searched for
_LONGEST_HEADER = 1 << 20  # a longer first line counts as part of the body


def header_length(file: BinaryIO) -> int:
    """The length of line 1 with its newline; 0 if it is not complete or is too long."""
    file = stored(file)
    for _, raw in lines_forward(file, 0, min(size_of(file), _LONGEST_HEADER)):
        return len(raw) if raw.endswith(b"\n") else 0
    return 0


def header_objects(file: BinaryIO) -> list[JsonObject]:
    """The objects in line 1: one, unless a line end was lost. None if line 1 is not complete."""
    return [event.data for event in parse(0, read_at(file, 0, header_length(file)))]


def header_of(file: BinaryIO) -> JsonObject:
    """The first object in line 1, or an empty one."""
    return next(iter(header_objects(file)), {})


def fingerprint(file: BinaryIO, start: int, end: int) -> str:
    return sha256(read_at(file, start, max(0, end - start))).hex()


def tail_of(file: BinaryIO, header: int, end: int) -> str:
    """The fingerprint of the last 64 KB before an offset, without line 1."""
    return fingerprint(file, max(header, end - SAMPLE), end)


def head_of(file: BinaryIO, header: int, end: int) -> str:
    """The fingerprint of the first 64 KB after line 1, up to an offset."""
    return fingerprint(file, header, min(header + SAMPLE, end))


def make_cursor(file: BinaryIO, profile: Profile, mark: Mark, line_count: int) -> Cursor:
    """`mark` is where the last complete line of this file ends."""
    return {**mark, "line_count": line_count,
            "last_event_id": last_event_id(file, profile, mark["byte_offset_end"])}


def mark_of(file: BinaryIO, end: int, header: int) -> Mark:
    """For `place_in`, later."""
    file = stored(file)
    header = min(header, end)
    return {"byte_offset_end": end, "prefix_sha256": fingerprint(file, 0, min(SAMPLE, end)),
            "tail_sha256": tail_of(file, header, end), "header_bytes": header,
            "body_sha256": head_of(file, header, end)}


def last_event_id(file: BinaryIO, profile: Profile, end: int) -> str | None:
    for event in events_backward(file, end):
        id = pick(event.data, profile.lines["id"])
        if isinstance(id, str):
            return id
        if end - event.offset > _LOOKED_AT:
            break  # the agent does not give its lines ids
    return None


def place_in(file: BinaryIO, cursor: Mapping[str, object]) -> int | None:
    """The cursor's offset in this file as it is now. None if it is another file, or was rewritten."""
    file = stored(file)
    end, header = cursor.get("byte_offset_end"), cursor.get("header_bytes")
    if not isinstance(end, int) or not isinstance(header, int) or not 0 <= header <= end:
        return None
    if end == 0:
        return 0
    size = size_of(file)
    if (size >= end and fingerprint(file, 0, min(SAMPLE, end)) == cursor.get("prefix_sha256")
            and tail_of(file, header, end) == cursor.get("tail_sha256")):
        return end
    return _place_if_moved(file, cursor, end, header, size)


def _place_if_moved(file: BinaryIO, cursor: Mapping[str, object], end: int, header: int,
                    size: int) -> int | None:
    """The place if only line 1 has changed: everything after it moved by the same distance."""
    now = header_length(file)
    moved = end + now - header
    if (header and now and moved <= size and head_of(file, now, moved) == cursor.get("body_sha256")
            and tail_of(file, now, moved) == cursor.get("tail_sha256")):
        return moved
    return None
