"""A wrong command line is answered in words, with the nearest right one."""

from __future__ import annotations

import pytest

from rewind_cli import Rewind


@pytest.mark.parametrize("args, error, hint", [
    (["restore"], "`rewind restore` needs CHECKPOINT.", "Run `rewind restore --help`."),
    (["export"], "`rewind export` needs CHECKPOINT and FILE.", "--help"),
    (["list", "--al"], "`rewind list` has no option --al. Did you mean --all?", "--help"),
    (["list", "--xyzzy"], "`rewind list` has no option --xyzzy.", "--help"),
    (["status", "word"], '`rewind status` takes no argument "word".', "--help"),
    (["list", "word"], "Put `--` before paths: rewind list -- word", "hint: Run `rewind list --help`"),
    (["config", "--tier", "foo"], "--tier cannot be 'foo'; choose from minimal, balanced, aggressive.",
     "--help"),
    (["completion", "ksh"], "The shell cannot be 'ksh'; choose from bash, zsh, fish.", "--help"),
    (["list", "--session"], "--session needs a value.", "--help"),
    (["back", "x"], "N must be a number, not 'x'.", "--help"),
    (["watch", "--interval", "soon"], "--interval must be a number, not 'soon'.", "--help"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_what_is_wrong_is_said_in_words(cli: Rewind, args: list[str], error: str, hint: str) -> None:
    assert cli.fails(2, *args, hint=hint) == f"error: {error}"
