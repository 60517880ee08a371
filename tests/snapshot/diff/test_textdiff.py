"""The line diff: right for any two texts, and never slow."""

from __future__ import annotations

import random
import subprocess
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewind.snapshot.diff.linediff import changed_blocks
from rewind.snapshot.diff.textdiff import counts, hunks, is_binary, lines_of

blocks = partial(changed_blocks, by_indent=True, to_show=True)

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n", b"\n"]), max_size=40)


def patched(old: list[bytes], new: list[bytes]) -> list[bytes]:
    out, at = [], 0
    for a, b, c, d in blocks(old, new):
        out += old[at:a] + new[c:d]
        at = b
    return out + old[at:]


def unified(old: list[bytes], new: list[bytes]) -> bytes:
    parts = []
    for hunk in hunks(old, new, blocks(old, new)):
        parts.append(hunk.header() + b"\n")
        for sign, line in hunk.lines:
            end = b"" if line.endswith(b"\n") else b"\n\\ No newline at end of file\n"
            parts.append(sign + line + end)
    return b"".join(parts)


@given(LINES, LINES)
def test_the_blocks_lead_from_the_old_text_to_the_new_one(old: list[bytes], new: list[bytes]) -> None:
    assert patched(old, new) == new


@given(LINES, LINES)
def test_blocks_are_in_order_and_do_not_touch(old: list[bytes], new: list[bytes]) -> None:
    found = blocks(old, new)
    assert all(b > a or d > c for a, b, c, d in found)
    for (_, b, _, d), (a, _, c, _) in zip(found, found[1:]):
        assert a > b and c > d


@given(LINES)
def test_a_text_does_not_differ_from_itself(text: list[bytes]) -> None:
    assert blocks(text, text) == []
    assert list(hunks(text, text, [])) == []


@given(st.binary(max_size=200))
def test_splitting_into_lines_loses_nothing(data: bytes) -> None:
    assert b"".join(lines_of(data)) == data
    assert all(b"\n" not in line[:-1] for line in lines_of(data))


@pytest.mark.parametrize("seed", range(8))
def test_patch_takes_the_hunks(seed: int, tmp_path: Path) -> None:
    rnd = random.Random(seed)
    old = [b"line %d\n" % rnd.randrange(40) for _ in range(rnd.randrange(1, 80))]
    new = [b"new %d\n" % rnd.randrange(9) if rnd.random() < 0.1 else line for line in old
           if rnd.random() > 0.1]
    if seed % 2:
        old[-1], new = old[-1].rstrip(b"\n"), [*new, b"without an end"]
    file = tmp_path / "x"
    file.write_bytes(b"".join(old))
    text = b"--- a/x\n+++ b/x\n" + unified(old, new)
    done = subprocess.run(["git", "apply", "--unidiff-zero", "-p1", "-"], cwd=tmp_path, input=text,
                          capture_output=True)
    assert done.returncode == 0, (done, text)
    assert file.read_bytes() == b"".join(new)


def test_a_small_change_in_a_large_text_stays_small() -> None:
    old = [b"%d\n" % n for n in range(40_000)]
    new = [*old[:100], b"x\n", *old[100:20_000], *old[20_003:]]
    assert counts(blocks(old, new)) == (1, 3)


def test_a_moved_block_is_one_deletion_and_one_insertion() -> None:
    old = [b"%d\n" % n for n in range(100)]
    new = old[50:60] + old[:50] + old[60:]
    assert counts(blocks(old, new)) == (10, 10)


@pytest.mark.parametrize("kinds", [1, 2, 50, 20_000])
def test_large_texts_of_few_different_lines_do_not_take_forever(kinds: int) -> None:
    rnd = random.Random(kinds)
    old, new = ([b"%d\n" % rnd.randrange(kinds) for _ in range(50_000)] for _ in range(2))
    assert patched(old, new) == new


def test_the_header_counts_as_diff_does() -> None:
    def header(old: list[bytes], new: list[bytes]) -> bytes:
        (hunk,) = hunks(old, new, blocks(old, new))
        return hunk.header()

    assert header([], [b"a\n"]) == b"@@ -0,0 +1 @@"
    assert header([b"a\n"], []) == b"@@ -1 +0,0 @@"
    assert header([b"a\n", b"b\n"], [b"a\n", b"c\n"]) == b"@@ -1,2 +1,2 @@"


def test_a_zero_byte_makes_a_file_binary() -> None:
    assert is_binary(b"\x89PNG\0") and not is_binary("Grüße\n".encode("latin-1"))
