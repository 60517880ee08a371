"""What changed, in few lines: bounded, and said where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import InProcess, cli  # noqa: F401
from rewind.controller import Controller
from rewind.tui.parts.difftext import changed


@pytest.mark.parametrize("most, said", [(3, "at least +3 −3 in 5 files"), (5, "+5 −5 in 5 files")])
def test_lines_of_some_files_are_not_passed_off_as_those_of_all(
        cli: InProcess, most: int, said: str) -> None:  # noqa: F811
    files = [Path(cli.project) / str(number) for number in range(5)]
    for file in files:
        file.write_text("one\n")
    cli.ok("init")
    for file in files:
        file.write_text("two\n")
    controller = Controller(str(cli.project))
    try:
        with controller.diff("last", None) as difference:
            found = changed(difference, most, 100)
    finally:
        controller.close()
    assert found.summary().plain == said
    assert len(found.counts) == min(most + 1, 5)


def test_a_newline_that_is_missing_at_the_end_is_told(cli: InProcess) -> None:  # noqa: F811
    """Else a line is shown as replaced by the same line."""
    file = Path(cli.project) / "a.txt"
    file.write_text("one\ntwo\n")
    cli.ok("init")
    file.write_text("one\ntwo")
    controller = Controller(str(cli.project))
    try:
        with controller.diff("last", None) as difference:
            found = changed(difference, 10, 100)
    finally:
        controller.close()
    assert [line.plain for line in found.patch] == [
        "a.txt", "@@ -1,2 +1,2 @@", " one", "-two", "+two", "\\ No newline at end of file"]
