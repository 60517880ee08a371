"""How a conversation is stored in the object store: line 1, and a chain of what was appended each time.

`docs/format.md` describes the fields. `stored.py` writes them.
"""

from __future__ import annotations

from rewind.errors import StoreDamaged
from rewind.fast import quickjson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypedDict

    from rewind.checkpoint.records.record import Record, StoredConversation
    from rewind.store.blobs import Blobs

    class LinkData(TypedDict):
        """One link as JSON; `start` and `end` are offsets in the body."""

        parent: str | None
        start: int
        end: int
        pieces: list[str]
        lines: int  # of the body, up to its end
        head: str
        tail: str

FILE = "transcript.jsonl.gz"  # in the checkpoint's directory, if the checkpoint is an archive


class Link:
    """One link: the bytes of the body from `start` to `end`, which follow those of `parent`."""

    __slots__ = ("data", "oid")

    def __init__(self, oid: bytes, data: LinkData) -> None:
        self.oid = oid
        self.data = data

    @property
    def parent(self) -> bytes | None:
        return bytes.fromhex(self.data["parent"]) if self.data["parent"] else None

    @property
    def start(self) -> int:
        return int(self.data["start"])

    @property
    def end(self) -> int:
        return int(self.data["end"])

    @property
    def pieces(self) -> list[bytes]:
        return [bytes.fromhex(oid) for oid in self.data["pieces"]]


def read_link(store: Blobs, oid: bytes) -> Link:
    try:
        data = quickjson.loads(store.get(oid))
        link = Link(oid, data)
        sound = (0 <= link.start <= link.end and isinstance(data["lines"], int)
                 and isinstance(data["tail"], str) and isinstance(data["head"], str)
                 and all(len(p) == 32 for p in [*link.pieces, link.parent or bytes(32)]))
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError):
        sound = False
    if not sound:
        raise StoreDamaged(what=f"object {oid.hex()} is no part of a conversation")
    return link


def links_of(store: Blobs, oid: bytes) -> Iterator[Link]:
    """The chain, latest first. Each link must begin where its parent ends, so a forged ring is detected."""
    last: Link | None = None
    at: bytes | None = oid
    while at is not None:
        link = read_link(store, at)
        fits = last is None or link.end == last.start
        goes_on = link.start < link.end if link.parent else link.start == 0
        if not fits or not goes_on:
            raise StoreDamaged(what=f"object {at.hex()} does not fit the conversation it is part of")
        yield link
        last, at = link, link.parent


def snapshot_of(record: Record) -> StoredConversation | None:
    snapshot = record.transcript.get("snapshot")
    return snapshot if isinstance(snapshot, dict) else None


def newest_versions(records: list[Record]) -> dict[str, Record]:
    """By session, the checkpoint that holds the newest version of its conversation."""
    found: dict[str, Record] = {}
    for record in records:
        session = record.transcript.get("sessionId")
        if snapshot_of(record) and isinstance(session, str):
            found[session] = record
    return found


def body_of(record: Record) -> bytes | None:
    return _oid((snapshot_of(record) or {}).get("body"))


def header_of(record: Record) -> bytes | None:
    return _oid((snapshot_of(record) or {}).get("header"))


def _oid(value: Any) -> bytes | None:
    try:
        found = bytes.fromhex(value) if isinstance(value, str) else b""
    except ValueError:
        return None
    return found if len(found) == 32 else None
