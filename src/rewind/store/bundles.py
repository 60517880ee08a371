"""Small objects that are compressed together: they look alike, and so they fill SQLite's pages better.

A bundle is the content of several objects, one after the other. The row of each object names its bundle and
its place in it. A bundle never changes; it is taken apart when few of its members are needed.
"""

from __future__ import annotations

from rewind.store.blobs import BUNDLED, is_deflated, oid_of, pack, raw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Row = tuple[bytes, bytes]  # id of a member, and the row that names its bundle and place
    Ask = Callable[[str, tuple[object, ...]], list[Any]]

SCHEMA = "CREATE TABLE bundles (n INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, data BLOB NOT NULL)"
BYTES = 64 << 10  # of content in a bundle; to read one member, half of it is unpacked on average
MOST = BYTES // 2  # a larger object is compressed by itself
_LEVEL = 6
_KEPT = 8  # unpacked bundles in memory: members are mostly read one after the other
_ID, _NUMBER = 32, 4
LENGTH = 1 + _ID + 2 * _NUMBER
_TREE = b"tree1 "
_LIMIT = 1 << 20  # of one bundle, unpacked; more is damage or an attack


class Member:
    """Where an object is: the bundle's id, and the place in its content."""

    def __init__(self, bundle: bytes, start: int, size: int) -> None:
        self.bundle = bundle
        self.start = start
        self.end = start + size
        self.size = size

    def row(self) -> bytes:
        start, size = (number.to_bytes(_NUMBER, "big") for number in (self.start, self.size))
        return BUNDLED + self.bundle + start + size

    def packed(self, content: bytes) -> bytes:
        """The object as a row of its own would hold it."""
        return raw(content[self.start:self.end])


def member(row: object) -> Member | None:
    """None if the row holds its content itself, or is malformed."""
    if not isinstance(row, bytes) or row[:1] != BUNDLED or len(row) != LENGTH:
        return None
    numbers = row[1 + _ID:]
    start, size = (int.from_bytes(part, "big") for part in (numbers[:_NUMBER], numbers[_NUMBER:]))
    return Member(row[1:1 + _ID], start, size)


class Bundles:
    """Reads members, and keeps the last bundles in memory, as far as they were unpacked."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._cached: dict[bytes, bytes] = {}

    def packed(self, row: bytes) -> bytes:
        """The packed content that the row stands for, not verified; the row itself if it cannot be read."""
        found = member(row)
        if found is None:
            return row
        content = self._content(found)
        return row if content is None or len(content) < found.end else found.packed(content)

    def _content(self, wanted: Member) -> bytes | None:
        known = self._cached.pop(wanted.bundle, None)
        if known is None or len(known) < wanted.end:
            # The first time only what is needed is unpacked, the second time all of it.
            known = self._read(wanted.bundle, wanted.end if known is None else 0)
        if known is not None:
            self._cached[wanted.bundle] = known
            if len(self._cached) > _KEPT:
                del self._cached[next(iter(self._cached))]
        return known

    def _read(self, bundle: bytes, upto: int) -> bytes | None:
        rows = self._ask("SELECT data FROM bundles WHERE id=?", (bundle,))
        return content_of(rows[0][0], upto) if rows else None


def content_of(packed: object, upto: int = 0) -> bytes | None:
    """The content of a bundle, as far as it can be unpacked: members before damage are still whole, and often
    those behind it."""
    if not isinstance(packed, bytes):
        return None
    return _inflated(packed[1:], upto or _LIMIT) if is_deflated(packed) else packed[1:]


def _inflated(body: bytes, upto: int) -> bytes:
    import zlib

    try:
        return zlib.decompressobj().decompress(body, upto)
    except zlib.error:
        return _up_to_the_damage(body)


def _up_to_the_damage(body: bytes) -> bytes:
    import zlib

    inflater, parts = zlib.decompressobj(), [b""]
    try:
        for at in range(len(body)):
            parts.append(inflater.decompress(body[at:at + 1], _LIMIT))
    except zlib.error:
        pass
    return b"".join(parts)[:_LIMIT]


class BundleBuilder:
    """Puts objects into bundles: `rows` are (n, id, new row) of objects, `bundles` (id, packed)."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, bytes, bytes]] = []
        self.bundles: list[tuple[bytes, bytes]] = []
        self._members: list[tuple[int, bytes, bytes]] = []
        self._size = 0

    @property
    def is_between(self) -> bool:
        """Whether the last bundle is closed."""
        return not self._members

    def add(self, n: int, oid: bytes, data: bytes) -> None:
        if not self.add_small(n, oid, data):
            self.rows.append((n, oid, pack(data, level=_LEVEL)))

    def add_small(self, n: int, oid: bytes, data: bytes) -> bool:
        """False if the object stays by itself."""
        # Trees are read by the hundreds and far more often than written, and their hashes do not shrink.
        if len(data) > MOST or data.startswith(_TREE):
            return False
        self._members.append((n, oid, data))
        self._size += len(data)
        if self._size >= BYTES:
            self.close()
        return True

    def close(self) -> None:
        """Make a bundle of the objects so far; a single object gets a row of its own."""
        members, self._members, self._size = self._members, [], 0
        if len(members) == 1:
            ((n, oid, data),) = members
            self.rows.append((n, oid, pack(data, level=_LEVEL)))
        elif members:
            self._bundle(members)

    def _bundle(self, members: list[tuple[int, bytes, bytes]]) -> None:
        content = b"".join(data for _, _, data in members)
        bundle = oid_of(content)
        self.bundles.append((bundle, pack(content, level=_LEVEL)))
        start = 0
        for n, oid, data in members:
            self.rows.append((n, oid, Member(bundle, start, len(data)).row()))
            start += len(data)


def _members(rows: Iterable[Row]) -> Iterable[tuple[bytes, Member]]:
    for oid, row in rows:
        found = member(row)
        if found:
            yield oid, found


def sparse_bundles(rows: Iterable[Row], bundles: Iterable[bytes]) -> list[tuple[bytes, list[bytes]]]:
    """Bundles of which less than half is needed, each with the members that are. `rows` are all members."""
    sizes = dict.fromkeys(bundles, 0)
    left: dict[bytes, list[bytes]] = {bundle: [] for bundle in sizes}
    for oid, found in _members(rows):
        if found.bundle in sizes:
            sizes[found.bundle] += found.size
            left[found.bundle].append(oid)
    chosen = [(bundle, left[bundle]) for bundle, size in sizes.items() if size < BYTES // 2]
    needed = [bundle for bundle, oids in chosen if oids]
    # The needed members of several bundles are put together; those of one would become the same bundle again.
    return chosen if len(needed) > 1 else [(bundle, oids) for bundle, oids in chosen if not oids]


def member_sizes(rows: Iterable[Row], lengths: Iterable[tuple[bytes, int]]) -> dict[bytes, int]:
    """How many bytes each member takes. `rows` are all members, `lengths` those of the packed bundles."""
    members, packed = list(_members(rows)), dict(lengths)
    totals: dict[bytes, int] = {}
    for _, found in members:
        totals[found.bundle] = totals.get(found.bundle, 0) + found.size
    return {oid: LENGTH + packed.get(found.bundle, 0) * found.size // max(1, totals[found.bundle])
            for oid, found in members}
