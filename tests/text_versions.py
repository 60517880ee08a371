"""Versions of a text like those that people and agents make, for comparisons with git."""

from __future__ import annotations

from random import Random

ODD = [b"caf\xe9", b"x\xff\xfe\x80", b"\xc3\xa9t\xc3\xa9"]


class Texts:
    """Makes texts from a small or a large stock of lines, so that some repeat, with either kind of line
    end."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.stock = [b"w%d" % n for n in range(random.choice([2, 4, 10, 60, 1000]))]
        self.stock += ODD if random.random() < 0.3 else []
        self.crlf = random.random() < 0.2

    def lines(self, count: int) -> list[bytes]:
        return [self._line() for _ in range(count)]

    def _line(self) -> bytes:
        random = self.random
        indent = random.choice([b"", b"  ", b"    ", b"\t"]) if random.random() < 0.3 else b""
        end = b"\r\n" if self.crlf and random.random() < 0.9 else b"\n"
        return indent + random.choice(self.stock) + end

    def edited(self, lines: list[bytes], edits: int) -> list[bytes]:
        lines = list(lines)
        for _ in range(edits):
            self._edit(lines)
        return lines

    def _edit(self, lines: list[bytes]) -> None:
        random = self.random
        at, count = random.randrange(len(lines) + 1), random.choice([1, 1, 2, 3, 8])
        what = random.choice(["insert", "delete", "replace", "move", "copy"])
        other = random.randrange(len(lines)) if lines else 0
        if what == "insert":
            lines[at:at] = self.lines(count)
        elif what == "delete":
            del lines[at:at + count]
        elif what == "replace":
            lines[at:at + count] = self.lines(random.choice([1, 2, count]))
        elif what == "copy":
            lines[at:at] = lines[other:other + count]
        else:
            moved = lines[other:other + count]
            del lines[other:other + count]
            lines[min(at, len(lines)):min(at, len(lines))] = moved

    def data(self, lines: list[bytes]) -> bytes:
        """Some files have no newline at their end."""
        data = b"".join(lines)
        return data.rstrip(b"\r\n") if self.random.random() < 0.15 else data

    def three(self, size: int, edits: int) -> tuple[bytes, bytes, bytes]:
        """Base, ours and theirs."""
        base = self.lines(size)
        ours = self.edited(base, edits)
        theirs = self.edited(base, self.random.choice([1, 2, edits]))
        return self.data(base), self.data(ours), self.data(theirs)


def three_versions(random: Random) -> tuple[bytes, bytes, bytes]:
    size = random.choice([0, 1, 3, 8, 20, 60, 200])
    return Texts(random).three(size, random.choice([1, 2, 3, 6, size // 4 + 1]))


def long_versions(random: Random) -> tuple[bytes, bytes, bytes]:
    """Versions that are so long and so different that git stops its search early."""
    size = random.choice([1500, 3000])
    return Texts(random).three(size, random.choice([20, size // 3, size]))


def huge_versions(random: Random, at_the_end: bool) -> tuple[bytes, bytes]:
    """Many small changes at one end of the file, and a large one at the other end."""
    count, changed, other = 36_000, 8_000, 600
    stock = [b"w%d\n" % n for n in range(400)]
    base = random.choices(stock, k=count)
    new = list(base)
    first = count - changed if at_the_end else 0
    at = first
    while at < first + changed:
        new[at] = random.choice(stock)
        at += random.randrange(1, 40)
    start = 1 if at_the_end else count - 1 - other
    new[start:start + other] = random.choices(stock, k=other)
    return b"".join(base), b"".join(new)
