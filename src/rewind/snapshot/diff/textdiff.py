"""The lines of a text, and the hunks of a patch: parts that differ, with some lines around each of them."""

from __future__ import annotations

from rewind.fast.sha256 import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from rewind.snapshot.diff.linediff import Block

CONTEXT = 3
_LOOKED_AT = 8000  # git searches this many bytes for a zero byte


class Hunk:
    """A part that differs, with the lines around it. `lines` are (b" ", b"-" or b"+", text)."""

    __slots__ = ("lines", "new_count", "new_start", "old_count", "old_start")

    def __init__(self, old_start: int, new_start: int) -> None:
        self.old_start = old_start  # counted from 0
        self.new_start = new_start
        self.old_count = 0
        self.new_count = 0
        self.lines: list[tuple[bytes, bytes]] = []

    def add(self, sign: bytes, lines: list[bytes]) -> None:
        self.lines += [(sign, line) for line in lines]
        self.old_count += len(lines) if sign != b"+" else 0
        self.new_count += len(lines) if sign != b"-" else 0

    @property
    def old_range(self) -> tuple[int, int]:
        """Start and end of its lines in the old text."""
        return self.old_start, self.old_start + self.old_count

    @property
    def id(self) -> str:
        """It stays the same as long as the lines do, even if they move in the new text."""
        text = b"".join([b"%d\n" % self.old_start, *(sign + line for sign, line in self.lines)])
        return sha256(text).hex()[:16]

    def header(self) -> bytes:
        old, new = _range(self.old_start, self.old_count), _range(self.new_start, self.new_count)
        return b"@@ -%s +%s @@" % (old, new)


def _range(start: int, count: int) -> bytes:
    # `diff` counts lines from 1, but for an empty range it names the line before.
    if count == 1:
        return b"%d" % (start + 1)
    return b"%d,%d" % (start + 1 if count else start, count)


def is_binary(data: bytes) -> bool:
    return b"\0" in data[:_LOOKED_AT]


def lines_of(data: bytes) -> list[bytes]:
    """The lines with their ends. Only a line feed ends a line."""
    if b"\r" not in data:
        return data.splitlines(keepends=True)
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def counts(parts: list[Block]) -> tuple[int, int]:
    """Lines inserted and deleted."""
    return sum(d - c for _, _, c, d in parts), sum(b - a for a, b, _, _ in parts)


def hunks(old: list[bytes], new: list[bytes], parts: list[Block]) -> Iterator[Hunk]:
    """The parts with some lines around each of them. Parts that are near share a hunk."""
    group: list[Block] = []
    for part in parts:
        if group and part[0] - group[-1][1] > 2 * CONTEXT:
            yield _hunk(old, new, group)
            group = []
        group.append(part)
    if group:
        yield _hunk(old, new, group)


def _hunk(old: list[bytes], new: list[bytes], group: list[Block]) -> Hunk:
    before = min(CONTEXT, group[0][0])
    hunk = Hunk(group[0][0] - before, group[0][2] - before)
    at = hunk.old_start
    for a, b, c, d in group:
        hunk.add(b" ", old[at:a])
        hunk.add(b"-", old[a:b])
        hunk.add(b"+", new[c:d])
        at = b
    hunk.add(b" ", old[at:at + CONTEXT])
    return hunk
