"""What `git blame` leaves out before it compares lines. The lines themselves are held against git in
`test_linediff.py` and in `test_blame_oracle.py`."""

from __future__ import annotations

import random

import pytest

from rewind.snapshot.diff.blamediff import Differ, common_tail

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
def test_walking_back_equals_comparing_each_pair(seed: int, rare: float) -> None:
    chance = random.Random(seed)
    lines = [line(chance, rare) for _ in range(chance.choice((30, 300, 1500)))]
    versions = []
    for _ in range(60):
        end = "\n" if chance.random() < 0.8 else ""
        versions.append(("\n".join(lines) + (end if lines else "")).encode())
        lines = edited(lines, chance, rare)
    differ = Differ(versions[-1])
    for new, old in zip(versions[::-1], versions[-2::-1]):
        assert differ.blocks(old) == Differ(new).blocks(old)
        assert differ._lines == Differ(old)._lines


TAIL = b"".join(b"%d\n" % n for n in range(1000))


def test_the_tail_that_git_leaves_out() -> None:
    spare = common_tail(b"a\n" + TAIL, b"b\n" + TAIL)
    assert TAIL.endswith(b"\n" + TAIL[-spare:]) and 0 < len(TAIL) - spare < 1024 + 10


@pytest.mark.parametrize(("old", "new", "spare"), [
    (b"", b"", 0), (b"a", b"", 0), (b"a\n" * 500, b"a\n" * 500, 0), (b"ax", b"ay", 0),
    (b"x" * 5000, b"y" + b"x" * 5000, 0),  # no line ends there
    (b"x" + b"c\n" * 512, b"y" + b"c\n" * 512, 1022), (b"x" + b"c\n" * 511, b"y" + b"c\n" * 511, 0),
    (b"x" + b"c\n" * 50_000, b"y" + b"c\n" * 50_000, 97 * 1024 - 2)])
def test_it_ends_with_a_line_and_is_counted_in_steps(old: bytes, new: bytes, spare: int) -> None:
    assert common_tail(old, new) == common_tail(new, old) == spare


def test_a_change_does_not_slide_into_the_tail() -> None:
    """Git 2.39 says so, too: without the tail the run would end with the last of the equal lines."""
    old, new = b"a\n" + b"c\n" * 2000, b"a\n" + b"c\n" * 2001
    (start, stop, new_start, new_stop), = Differ(new).blocks(old)
    assert (stop - start, new_stop - new_start) == (0, 1) and new_stop < 2001 - 900
