"""A bundle with one wrong bit, made whole. There are too many bits to try them all, so only those are tried
that can have spoilt the first member that is wrong: up to there everything was unpacked as it should be."""

from __future__ import annotations

from rewind.store.blobs import is_whole, oid_of, unpack
from rewind.store.bundles import BYTES, MOST, Member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from rewind.store.mend import Mender

    Members = list[tuple[bytes, Member]]

_STEP = 32  # packed bytes from one mark to the next
_EARLIER = 16  # marks: the codes of a block come before what they stand for
_MOST = BYTES + MOST


class _Mark:
    """The inflater after so many packed bytes, and how much it had given by then."""

    def __init__(self, at: int, size: int, inflater: Any) -> None:
        self.at = at
        self.size = size
        self.inflater = inflater


def mend_bundle(packed: bytes, members: Members, mender: Mender) -> bytes | None:
    """Its content, as far as members tell that it is right; None when one bit is not all that is wrong."""
    body = packed[1:]  # whatever the codec byte says: it may be the one that is wrong
    content, marks = _unpacked(body)
    wrong = _first_wrong(content, members)
    if wrong is None:
        return content
    oid, member = wrong
    end = next((mark.at for mark in marks if mark.size >= member.end), len(body)) + _STEP
    first = max(0, sum(mark.size <= member.start for mark in marks) - 1 - _EARLIER)
    region = min(len(body), end) - marks[first].at
    if not mender.may_try(region, member.end - marks[first].size):
        return None
    for mark in (mark for mark in marks[first:] if mark.at < end):
        for trial in _flipped_near(body, mark, content, oid, member):
            found = _unpacked(trial)[0]
            if _first_wrong(found, members) is None:
                return found
    return None


def mend_row(oid: bytes, row: bytes, whole: Callable[[bytes], bytes]) -> bytes | None:
    """The content of an object whose row names a wrong bundle or place; `whole` follows such a row."""
    trial = bytearray(row)
    for at in range(len(trial)):
        for bit in range(8):
            trial[at] ^= 1 << bit
            packed = whole(bytes(trial))
            if is_whole(oid, packed):
                return unpack(oid, packed)
            trial[at] ^= 1 << bit
    return None


def _unpacked(body: bytes) -> tuple[bytes, list[_Mark]]:
    """As much as can be had, with marks on the way."""
    import zlib

    inflater, parts, size = zlib.decompressobj(), [], 0
    marks = [_Mark(0, 0, inflater.copy())]
    try:
        for at in range(0, len(body), _STEP):
            parts.append(inflater.decompress(body[at:at + _STEP]))
            size += len(parts[-1])
            if inflater.eof or size > _MOST:
                break
            marks.append(_Mark(at + _STEP, size, inflater.copy()))
    except zlib.error:
        pass
    return b"".join(parts), marks


def _first_wrong(content: bytes, members: Members) -> tuple[bytes, Member] | None:
    for oid, member in sorted(members, key=lambda one: one[1].start):
        if oid_of(content[member.start:member.end]) != oid:
            return oid, member
    return None


def _flipped_near(body: bytes, mark: _Mark, content: bytes, oid: bytes, member: Member) -> Iterator[bytes]:
    """With one bit changed, right behind the mark, so that this member is right."""
    import zlib

    before = content[member.start:mark.size]
    wanted = member.end - mark.size
    if wanted <= 0:
        return
    trial = bytearray(body[mark.at:])
    for at in range(min(_STEP, len(trial))):
        for bit in range(8):
            trial[at] ^= 1 << bit
            try:
                data = mark.inflater.copy().decompress(trial, wanted)
            except zlib.error:
                data = b""
            data = before + data if before else data[member.start - mark.size:]
            if oid_of(data[:member.size]) == oid:
                yield body[:mark.at] + bytes(trial)
            trial[at] ^= 1 << bit
