"""The command line again, with what was probably meant in the place of what was typed: to be copied."""

from __future__ import annotations

import shlex

from rewind.errors import RewindError
from rewind.words import shortened

_LONGEST = 60


def commands(error: RewindError, argv: list[str]) -> list[tuple[str, str]]:
    """(command, what it would take), for each of the nearest."""
    return [(_command(argv, error.word, near), shortened(" ".join(meaning.split()), _LONGEST))
            for near, meaning in error.near]


def _command(argv: list[str], word: str, near: str) -> str:
    words = [_replaced(arg, word, near) for arg in argv]
    if words == argv:
        words = ["show", near]
    return " ".join(["rewind", *map(shlex.quote, words)])


def _replaced(arg: str, word: str, near: str) -> str:
    """Alone, as `CHECKPOINT:PATH`, or as an end of a range."""
    if arg == word:
        return near
    if arg.startswith(f"{word}:"):
        return near + arg[len(word):]
    ends = arg.split("..")
    return "..".join(near if end == word else end for end in ends) if len(ends) == 2 else arg
