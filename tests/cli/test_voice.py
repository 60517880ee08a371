"""`--quiet` and `--verbose`."""

from __future__ import annotations

import pytest

from rewind_cli import Rewind


def test_quiet_says_nothing_but_the_result(two: Rewind) -> None:
    (two.project / "README.md").write_text("# three\n")
    result = two.ok("save", "three", "--quiet")
    assert result.out.startswith("Saved ") and result.err == ""
    assert two.ok("restore", "prev", "-q").err == ""


def test_quiet_still_reports_errors(two: Rewind) -> None:
    two.fails(12, "show", "99", "--quiet")


def test_verbose_says_what_was_looked_at_and_how_long_it_took(two: Rewind) -> None:
    plain, told = two.ok("list"), two.ok("list", "--verbose")
    assert told.out.count("\n") == plain.out.count("\n") and plain.err == ""
    assert f"verbose: project {two.project}" in told.err
    assert "2 rows" in told.err and "list took" in told.err


@pytest.mark.parametrize("flags", [["-q"], ["--verbose"], ["-q", "-C", "."], ["-C", ".", "--quiet"]])
def test_they_may_stand_before_the_command(two: Rewind, flags: list[str]) -> None:
    assert len(two.ok(*flags, "list").out.splitlines()) == 2


def test_one_command_does_not_silence_the_next(two: Rewind) -> None:
    two.ok("list", "--quiet")
    assert "Nothing differs" in two.ok("diff").err
