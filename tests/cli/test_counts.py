"""Counts of lines are exact or say why not: large, binary and non-UTF-8 files; what no checkpoint holds."""

from __future__ import annotations

import os

import pytest

from rewind_cli import Rewind

LATIN = b"na\xefve.txt"


@pytest.fixture
def odd(cli: Rewind) -> Rewind:
    """Two checkpoints; between them a large, a binary and a Latin-1 file, an odd name and a mode changed."""
    top = cli.project
    for name, data in ((b"big.txt", b"a line\n" * 400_000), (b"b.bin", b"\0one"),
                       (b"latin.txt", b"caf\xe9\n"), (LATIN, b"x\n"), (b"run.sh", b"#!\n"),
                       (b".gitignore", b"*.log\n")):
        _write(top, name, data)
    os.chmod(top / "run.sh", 0o644)
    cli.ok("init")
    for name, data in ((b"big.txt", b"a line\n" * 400_001), (b"b.bin", b"\0two, longer"),
                       (b"latin.txt", b"caf\xe9\nna\xefve\n"), (LATIN, b"x\ny\n"),
                       (b"huge.log", b"x" * 3_000_000)):
        _write(top, name, data)
    os.chmod(top / "run.sh", 0o755)
    cli.save("second")
    return cli


def _write(top: os.PathLike[str], name: bytes, data: bytes) -> None:
    with open(os.path.join(os.fsencode(top), name), "wb") as file:
        file.write(data)


def test_diff_stat_counts_what_it_can_and_names_the_rest(odd: Rewind) -> None:
    lines = [" ".join(line.split()) for line in odd.ok("diff", "--stat", "1", "2").out.splitlines()]
    assert lines == ["b.bin | Bin 4 B -> 12 B", "big.txt | large, 2.7 MB -> 2.7 MB", "latin.txt | 1 +",
                     r"na\xefve.txt | 1 +", "run.sh | mode 644 -> 755",
                     "5 paths changed, 2 insertions(+), 0 deletions(-); 1 large file not counted"]


def test_show_and_list_say_that_there_may_be_more(odd: Rewind) -> None:
    out = odd.ok("show", "2").out
    assert "0 added, 5 modified, 0 deleted (at least +2 lines; 1 large file not counted)" in out
    assert "1 path not captured" in out
    assert odd.ok("list").out.splitlines()[0].split("\t")[5] == "at least +2 in 5 files"


def test_without_a_large_file_the_count_is_exact(odd: Rewind) -> None:
    for name, data in ((b"b.bin", b"\0three"), (b"latin.txt", b"\xe9\n")):
        _write(odd.project, name, data)
    odd.save("third")
    assert "0 added, 2 modified, 0 deleted (+1 −2 lines)" in odd.ok("show", "3").out
    assert odd.ok("list").out.splitlines()[0].split("\t")[5] == "+1 −2 in 2 files"


def test_a_change_of_large_files_alone_is_not_called_none(odd: Rewind) -> None:
    _write(odd.project, b"big.txt", b"another line\n" * 400_000)
    odd.save("third")
    assert odd.ok("list").out.splitlines()[0].split("\t")[5] == "1 file, lines not counted"
    assert "(1 large file not counted)" in odd.ok("show", "3").out


def test_what_was_not_captured_is_not_called_unchanged(odd: Rewind) -> None:
    result = odd.ok("diff", "1", "2", "--", "huge.log")
    assert result.out == "" and "Nothing differs" not in result.err
    assert "huge.log cannot be compared, because it was not captured: ignored by git" in result.err
