"""Our merge by lines beside `git merge-file`: clean where git is, the same bytes, the same conflicts."""

from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from other_pythons import examples
from rewind.snapshot.diff.textdiff import is_binary
from rewind.snapshot.merge.line_merge import MARKERS, OURS, THEIRS, merge
from rewind_cli import clean_env
from text_versions import long_versions, three_versions

pytestmark = pytest.mark.slow


def git_merge(folder: Path, base: bytes, ours: bytes, theirs: bytes, how: str) -> tuple[bytes, int]:
    """The result, and the number of conflicts, which an exit status holds up to 127."""
    for name, data in (("base", base), ("ours", ours), ("theirs", theirs)):
        (folder / name).write_bytes(data)
    favour = [] if how == MARKERS else [f"--{how}"]
    done = subprocess.run(["git", "merge-file", "-p", "-L", "now", "-L", "base", "-L", "turn 2", *favour,
                           "ours", "base", "theirs"], cwd=folder, env=clean_env(folder), capture_output=True)
    assert 0 <= done.returncode <= 127, done.stderr
    return done.stdout, done.returncode


def check(folder: Path, base: bytes, ours: bytes, theirs: bytes, how: str = MARKERS) -> bool:
    """Whether it was clean."""
    data, conflicts = git_merge(folder, base, ours, theirs, how)
    found = merge(base, ours, theirs, how=how, labels=("now", "turn 2"))
    assert found.data == data, (base, ours, theirs, how)
    assert how != MARKERS or min(len(found.conflicts), 127) == conflicts
    return not found.conflicts


@pytest.mark.parametrize("seed", range(8))
def test_generated_versions_merge_as_git_does(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    clean = [check(tmp_path, *three_versions(random), random.choice([MARKERS, MARKERS, OURS, THEIRS]))
             for _ in range(250)]
    assert 50 < sum(clean) < 200  # both happen


@pytest.mark.parametrize("seed", range(3))
def test_long_and_very_different_versions(tmp_path: Path, seed: int) -> None:
    check(tmp_path, *long_versions(Random(seed)))


# Each with a letter: where conflicts have nothing else between them, `git merge-file` joins them and
# `git revert` does not.
_lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n", b"a\r\n", b"b\r\n", b"x\xff\n"]),
                  max_size=12)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(base=_lines, ours=_lines, theirs=_lines, cut=st.lists(st.booleans(), min_size=3, max_size=3),
       how=st.sampled_from([MARKERS, OURS, THEIRS]))
def test_any_three_texts_merge_as_git_does(tmp_path: Path, base: list[bytes], ours: list[bytes],
                                           theirs: list[bytes], cut: list[bool], how: str) -> None:
    texts = [b"".join(lines) for lines in (base, ours, theirs)]
    texts = [text[:-1] if short and text.endswith(b"\n") else text for text, short in zip(texts, cut)]
    check(tmp_path, texts[0], texts[1], texts[2], how)


@settings(max_examples=examples(300), deadline=None)
@given(base=_lines, other=_lines)
def test_a_side_that_changed_nothing_gives_the_other(base: list[bytes], other: list[bytes]) -> None:
    one, two = b"".join(base), b"".join(other)
    for found in (merge(one, two, one), merge(one, one, two), merge(one, two, two)):
        assert not found.conflicts
        assert found.data == two


def test_a_conflict_is_named_by_its_lines() -> None:
    found = merge(b"1\n2\n3\n4\n5\n6\n7\n8\n9\n", b"1\nours\n3\n4\n5\n6\n7\n8\nours too\n",
                  b"1\ntheirs\n3\n4\n5\n6\n7\n8\ntheirs too\n", labels=("now", 'before "fix it"'))
    assert found.conflicts == [(2, 1), (9, 1)]
    assert b"<<<<<<< now\nours\n=======\ntheirs\n>>>>>>> before \"fix it\"\n" in found.data


def test_a_label_may_be_anything_but_lines() -> None:
    assert b"caf\xc3\xa9 \xff" in merge(b"", b"a\n", b"b\n", labels=("", "café \udcff")).data


@pytest.mark.parametrize("data, binary", [(b"", False), (b"a" * 9000, False), (b"\0", True),
                                          (b"a" * 7999 + b"\0", True), (b"a" * 8000 + b"\0", False)])
def test_binary_is_what_git_calls_so(data: bytes, binary: bool) -> None:
    assert is_binary(data) is binary
