"""Our diff by lines beside git's: the same blocks, with and without the indent heuristic."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from other_pythons import examples
from rewind.snapshot.diff.linediff import changed_blocks, rough_root
from rewind.snapshot.diff.textdiff import lines_of
from rewind_cli import clean_env
from text_versions import huge_versions, long_versions, three_versions

pytestmark = pytest.mark.slow

_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


def git_blocks(folder: Path, old: bytes, new: bytes, by_indent: bool) -> list[tuple[int, int, int, int]]:
    (folder / "old").write_bytes(old)
    (folder / "new").write_bytes(new)
    done = subprocess.run(
        ["git", "diff", "--no-index", "-U0", "--no-color", "--text", "--diff-algorithm=myers",
         "--indent-heuristic" if by_indent else "--no-indent-heuristic", "old", "new"],
        cwd=folder, env=clean_env(folder), capture_output=True)
    assert done.returncode in (0, 1), done.stderr
    return [_block(*match) for match in _HUNK.findall(done.stdout)]


def _block(old: bytes, old_count: bytes, new: bytes, new_count: bytes) -> tuple[int, int, int, int]:
    ends = []
    for start, count in ((old, old_count), (new, new_count)):
        lines = int(count) if count else 1
        first = int(start) - 1 if lines else int(start)
        ends += [first, first + lines]
    return ends[0], ends[1], ends[2], ends[3]


def check(folder: Path, old: bytes, new: bytes) -> None:
    for by_indent in (False, True):
        found = changed_blocks(lines_of(old), lines_of(new), by_indent=by_indent)
        assert found == git_blocks(folder, old, new, by_indent), (old, new, by_indent)


@pytest.mark.parametrize("seed", range(4))
def test_generated_versions_differ_as_git_says(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    for _ in range(60):
        base, ours, _ = three_versions(random)
        check(tmp_path, base, ours)


@pytest.mark.parametrize("seed", range(4))
def test_where_git_cuts_its_search_short_so_do_we(tmp_path: Path, seed: int) -> None:
    base, ours, _ = long_versions(Random(seed))
    check(tmp_path, base, ours)


@pytest.mark.parametrize("at_the_end", [False, True])
def test_where_git_is_content_with_a_good_way_through_a_huge_file_so_are_we(tmp_path: Path,
                                                                            at_the_end: bool) -> None:
    """Of more than 65,536 lines in both: many small changes on one side, something else on the other."""
    base, new = huge_versions(Random(1), at_the_end)
    check(tmp_path, base, new)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(old=st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"  a\n", b"\tb\n", b"}\n"]), max_size=30),
       new=st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"  a\n", b"\tb\n", b"}\n"]), max_size=30))
def test_any_two_texts_differ_as_git_says(tmp_path: Path, old: list[bytes], new: list[bytes]) -> None:
    check(tmp_path, b"".join(old), b"".join(new))


@settings(max_examples=examples(300), deadline=None)
@given(old=st.lists(st.integers(0, 5), max_size=40), new=st.lists(st.integers(0, 5), max_size=40))
def test_the_blocks_turn_one_text_into_the_other(old: list[int], new: list[int]) -> None:
    one, two = [b"%d\n" % n for n in old], [b"%d\n" % n for n in new]
    made, at = [], 0
    for start, end, new_start, new_end in changed_blocks(one, two):
        assert start < end or new_start < new_end
        made += one[at:start] + two[new_start:new_end]
        at = end
    assert made + one[at:] == two


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=60))
def test_lines_are_the_text(data: bytes) -> None:
    lines = lines_of(data)
    assert b"".join(lines) == data
    assert all(line.endswith(b"\n") for line in lines[:-1]) and b"" not in lines


def test_a_root_is_a_power_of_two() -> None:
    assert [rough_root(n) for n in (0, 1, 3, 4, 15, 16, 1 << 20)] == [1, 2, 2, 4, 4, 8, 2048]
