"""Long output on a terminal goes through a pager, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.test_main import on_terminal
from rewind_cli import Rewind


@pytest.fixture
def long(rewind: Rewind) -> Rewind:
    (rewind.project / "a.txt").write_text("one\n")
    rewind.init()
    (rewind.project / "a.txt").write_text("a line\n" * 200)
    return rewind


def pager(rewind: Rewind) -> str:
    """It says that it was there, and passes everything on."""
    script = Path(rewind.home) / "pager"
    script.write_text("#!/bin/sh\necho PAGED\ncat\n")
    script.chmod(0o755)
    return str(script)


def test_long_output_is_paged_with_its_colours(long: Rewind) -> None:
    text = on_terminal(long, "diff", PAGER=pager(long))
    assert text.startswith("PAGED") and text.count("\x1b[32m+a line") == 200


def test_what_fits_on_the_screen_is_not(long: Rewind) -> None:
    assert "PAGED" not in on_terminal(long, "list", "--all", PAGER=pager(long))
    assert "PAGED" not in on_terminal(long, "diff", "--stat", PAGER=pager(long))


@pytest.mark.parametrize("args, env", [(["diff", "--no-pager"], {}), (["diff"], {"NO_PAGER": "1"}),
                                       (["diff"], {"TERM": "dumb"}), (["diff", "--json"], {})])
def test_there_is_none_where_none_is_wanted(long: Rewind, args: list[str], env: dict[str, str]) -> None:
    assert "PAGED" not in on_terminal(long, *args, **{"PAGER": pager(long), **env})


def test_there_is_none_in_a_pipe(long: Rewind) -> None:
    assert "PAGED" not in long.run("diff", env={"PAGER": pager(long), "TERM": "xterm"}).out


def test_a_pager_that_is_left_early_is_no_error(long: Rewind) -> None:
    (long.project / "a.txt").write_text("a line\n" * 50_000)
    text = on_terminal(long, "diff", PAGER="head -1")
    assert text.startswith("\x1b[1mdiff --git") and "error" not in text and "Traceback" not in text


@pytest.mark.parametrize("name", ["/no/such/pager", "", "cat"])
def test_without_a_usable_pager_the_text_is_printed(long: Rewind, name: str) -> None:
    assert on_terminal(long, "diff", PAGER=name).count("+a line") == 200
