"""Comparing a few lines gives what comparing all of them gives."""

from __future__ import annotations

import random

import pytest

from rewind.snapshot.diff import blamediff
from rewind.snapshot.diff.blamediff import Differ, blamed_blocks, common_end, without_common_tail

COMMON = ["", "", "}", "    }", "return", "    x = 1", "def f():"]


def line(chance: random.Random, rare: float) -> str:
    if chance.random() < rare:
        return "    " * chance.randrange(3) + f"only {chance.randrange(10 ** 6)}"
    return chance.choice(COMMON)


def edited(lines: list[str], chance: random.Random, rare: float) -> list[str]:
    lines = list(lines)
    for _ in range(chance.choice((1, 1, 2, 3))):
        at, size = chance.randrange(len(lines) + 1), chance.choice((1, 1, 3, 8, 30))
        what = chance.randrange(5)
        if what == 0:
            del lines[at:at + size]
        elif what == 1:
            lines[at:at] = lines[at:at + size]
        else:
            lines[at:at + (size if what > 2 else 0)] = [line(chance, rare) for _ in range(size)]
    return lines


@pytest.mark.parametrize("rare", [0.9, 0.5, 0.1, 0.01])
@pytest.mark.parametrize("seed", range(4))
def test_walking_back_equals_comparing_everything(seed: int, rare: float,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blamediff, "_SMALL", 0)
    quick = []
    blocks = blamediff._Part.blocks
    monkeypatch.setattr(blamediff._Part, "blocks", lambda self: quick.append(blocks(self)) or quick[-1])
    chance = random.Random(seed)
    lines = [line(chance, rare) for _ in range(chance.choice((30, 300, 1500)))]
    versions = []
    for _ in range(60):
        end = "\n" if chance.random() < 0.8 else ""
        versions.append(("\n".join(lines) + (end if lines else "")).encode())
        lines = edited(lines, chance, rare)
    differ = Differ(versions[-1])
    for new, old in zip(versions[::-1], versions[-2::-1]):
        assert differ.blocks(old) == blamed_blocks(old, new)
    assert rare < 0.5 or sum(found is not None for found in quick) > len(quick) / 2, "it never was quick"


def test_the_tail_that_git_leaves_out() -> None:
    tail = b"".join(b"%d\n" % n for n in range(1000))
    old, new, spare = without_common_tail(b"a\n" + tail, b"b\n" + tail, len(b"\n" + tail))
    assert spare and old.endswith(b"\n") and old[2:] == new[2:] and tail.endswith(tail[-spare:])
    assert len(old) < 2 + 1024 + 10
    assert without_common_tail(b"x" * 5000, b"y" + b"x" * 5000, 5000) == (b"x" * 5000, b"y" + b"x" * 5000, 0)


@pytest.mark.parametrize(("old", "new", "count"), [
    (b"", b"", 0), (b"a\n", b"b\n", 0), (b"a\nb", b"a\nc", 2), (b"a\n", b"a\nb\n", 2), (b"ab\n", b"ac\n", 0),
    (b"c\n" * 50_000 + b"x", b"c\n" * 50_000 + b"y", 100_000)])
def test_how_many_bytes_the_lines_have_that_both_begin_with(old: bytes, new: bytes, count: int) -> None:
    assert blamediff._common_lines(old, new) == count


@pytest.mark.parametrize(("old", "new", "count"), [
    (b"", b"", 0), (b"a", b"", 0), (b"abc", b"bc", 2), (b"abc", b"abc", 3), (b"xbc", b"ybc", 2),
    (b"x" + b"c" * 100_000, b"y" + b"c" * 100_000, 100_000), (b"ax", b"ay", 0)])
def test_how_many_bytes_both_end_with(old: bytes, new: bytes, count: int) -> None:
    assert common_end(old, new) == count
