"""`rewind help TOPIC`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Optional

import pytest

import rewind.cli.parse.help as help_texts
from rewind.cli.parse.arguments import make_parser
from rewind.cli.parse.commands import COMMANDS, load_command
from rewind.cli.parse.help import TOPICS
from rewind_cli import Rewind


@pytest.mark.parametrize("name", TOPICS)
def test_a_topic_is_a_short_text(cli: Rewind, name: str) -> None:
    text = cli.ok("help", name).out
    assert 8 < len(text.splitlines()) < 40 and max(map(len, text.splitlines())) < 80
    assert name in cli.ok("help").out


@pytest.mark.parametrize("name", TOPICS)
def test_what_a_topic_names_exists(cli: Rewind, name: str) -> None:
    for command, rest in re.findall(r"rewind ([a-z-]+)((?: [^\s,`]+)*)", cli.ok("help", name).out):
        if command == "help":
            assert rest.split()[0].rstrip(",") in (*COMMANDS, *TOPICS)
            continue
        options = {o for a in make_parser(load_command(command), command)._actions for o in a.option_strings}
        assert {w for w in rest.split() if w.startswith("--") and w != "--"} <= options, (command, rest)


def test_every_text_is_a_topic() -> None:
    assert {file.stem for file in Path(help_texts._FOLDER).iterdir()} == set(TOPICS)


def test_an_unknown_topic_is_answered_with_the_nearest(cli: Rewind) -> None:
    cli.fails(2, "help", "going_back", hint="Did you mean `rewind help going-back`?")
    cli.fails(2, "help", "lsit", hint="Did you mean `rewind help list`?")


@pytest.mark.parametrize("name", [None, *COMMANDS])
def test_help_fits_on_a_narrow_terminal(cli: Rewind, monkeypatch: pytest.MonkeyPatch,
                                        name: Optional[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = cli.ok("help", *([name] if name else [])).out
    assert [line for line in text.splitlines() if len(line) > 80] == []
