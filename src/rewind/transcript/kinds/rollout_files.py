"""Codex's rollouts as files: their names, and the chain of files that may make up one conversation.

A rollout whose first line has a `history_base` continues from a place in another one, which stays as it is.
Codex 0.166 forks and rewinds in this way. The place is given by the number of a line (`ordinal`) and an
offset.
"""

from __future__ import annotations

import os
import time

from rewind.errors import RewindError
from rewind.transcript.layout import SUFFIX, by_date, stem
from rewind.transcript.place.cursor import header_length, header_objects
from rewind.transcript.read.joined import Joined
from rewind.transcript.read.lines import (
    events_backward,
    line_of,
    lines_forward,
    open_transcript,
    parse,
    read_at,
    size_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from rewind.jsonfile import JsonObject
    from rewind.transcript.read.joined import Piece

PREFIX = "rollout-"
_STAMP = len("2026-11-15T08-06-50-")
_ID = 36
_LONGEST_CHAIN = 200
_NOT_IN_ONE_FILE = ("history_base", "forked_from_ordinal_exclusive")


class _CannotTell(Exception):
    """What comes before a rollout cannot be determined for certain."""


def session_id_of(path: str) -> str:
    """`rollout-TIME-THREAD.jsonl`, or `rollout-TIME-THREAD_ROLLOUT.jsonl` after a rewind of Codex's own."""
    name = os.path.basename(stem(path))
    rest = name[len(PREFIX) + _STAMP:]
    known = name.startswith(PREFIX) and len(rest) in (_ID, 2 * _ID + 1)
    return rest[:_ID] if known else name


def _made_at(id: str) -> float:
    try:
        return int(id.replace("-", "")[:12], 16) / 1000
    except ValueError:
        return 0.0


def path_beside(original: str, session_id: str) -> str:
    made = time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime(_made_at(session_id)))
    return os.path.join(os.path.dirname(original), f"{PREFIX}{made}-{session_id}{SUFFIX}")


# one conversation from several files

def meta_of(file: BinaryIO) -> JsonObject:
    """Line 1, if it is the first line of a rollout; else empty."""
    found = header_objects(file)
    data = found[0] if len(found) == 1 else {}
    known = data.get("type") == "session_meta" and isinstance(data.get("payload"), dict)
    return data if known else {}


def whole(file: BinaryIO, path: str) -> BinaryIO:
    """The conversation from its beginning, or only what this file has if those before it are missing."""
    meta = meta_of(file)
    if "history_base" not in meta.get("payload", {}):
        return file
    payload = {key: value for key, value in meta["payload"].items() if key not in _NOT_IN_ONE_FILE}
    head = line_of({**meta, **({"ordinal": 0} if "ordinal" in meta else {}), "payload": payload})
    own = (file, header_length(file), size_of(file))
    opened: list[BinaryIO] = []
    lacks, before = "", []
    try:
        before = _pieces_before(meta["payload"]["history_base"], _root_of(path), 1 << 62, opened)
    except (_CannotTell, RewindError) as error:
        lacks = str(error)
    pieces: list[Piece] = [head, *before, own]
    return Joined(pieces, [*opened, file], lacks)  # type: ignore[return-value]


def _pieces_before(base: Any, root: str, limit: int, opened: list[BinaryIO]) -> list[Piece]:
    """The lines before the place that `base` refers to, up to number `limit`, oldest first."""
    if not isinstance(base, dict) or len(opened) >= _LONGEST_CHAIN:
        raise _CannotTell("the reference to what came before is not understood")
    id, end, hint = base.get("thread_id"), base.get("end_ordinal_exclusive"), base.get("end_byte_offset")
    if not isinstance(id, str) or not isinstance(end, int) or isinstance(end, bool):
        raise _CannotTell("the reference to what came before is not understood")
    path = _find_rollout(root, id)
    if path is None:
        raise _CannotTell(id)
    file = open_transcript(path)
    opened.append(file)
    meta = meta_of(file)
    first = meta.get("ordinal")
    if not isinstance(first, int):
        raise _CannotTell(id)
    limit = min(limit, end)
    earlier: list[Piece] = []
    if "history_base" in meta["payload"]:
        earlier = _pieces_before(meta["payload"]["history_base"], root, limit, opened)
    header = header_length(file)
    if limit <= first + 1:
        return earlier  # Codex went back to before this file's beginning
    return [*earlier, (file, header, _end_of_line(file, header, limit, hint if limit == end else None, id))]


def _end_of_line(file: BinaryIO, header: int, limit: int, hint: object, id: str) -> int:
    """Where the line with the number `limit - 1` ends. If that line is missing, so might be others, and the
    conversation would have a gap."""
    if isinstance(hint, int) and header < hint <= size_of(file) and read_at(file, hint - 1, 1) == b"\n":
        last = next(events_backward(file, hint), None)
        if last is not None and last.end == hint and last.data.get("ordinal") == limit - 1:
            return hint
    for offset, raw in lines_forward(file, header):
        if raw.endswith(b"\n") and ordinal_of(offset, raw) == limit - 1:
            return offset + len(raw)
    raise _CannotTell(id)


def ordinal_of(offset: int, raw: bytes) -> int | None:
    at = raw.find(b'"ordinal":', 0, 100)
    if raw.startswith(b'{"timestamp":"') and at > 0:
        digits = raw[at + 10:at + 30].split(b",")[0]
        if digits.isdigit():
            return int(digits)
    found = next((event.data.get("ordinal") for event in parse(offset, raw)), None)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


# where they are

def _root_of(path: str) -> str:
    """The directory with the folders of years. If the file is not in one, its own directory."""
    top = path
    for _ in range(4):
        top = os.path.dirname(top)
    return top if os.path.basename(top) == "sessions" else os.path.dirname(path)


def _find_rollout(root: str, id: str) -> str | None:
    """The rollout with this id, in whatever directory; Codex also archives some."""
    if len(id) != _ID or not id.replace("-", "").isalnum() or not id.isascii():
        return None
    made = _made_at(id)
    days = (time.strftime("%Y/%m/%d", time.gmtime(made + hours * 3600)) for hours in (0, -14, 14))
    near = [os.path.join(root, day) for day in days]
    archived = os.path.join(os.path.dirname(root), "archived_sessions")
    for folder in (root, *near, archived):
        found = _rollout_in(folder, id)
        if found:
            return found
    return next(filter(None, (_rollout_in(folder, id) for folder in by_date(root))), None)


def _rollout_in(folder: str, id: str) -> str | None:
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    return next((os.path.join(folder, name) for name in names
                 if name.startswith(PREFIX) and name.endswith(id + SUFFIX)), None)
