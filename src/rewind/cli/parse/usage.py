"""Errors in a command line: what argparse found, in Rewind's words, and what was probably meant."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rewind.errors import RewindError, UsageError
from rewind.words import shortened

if TYPE_CHECKING:
    import argparse

_MISSING = "the following arguments are required: "
_UNKNOWN = "unrecognized arguments: "
_CHOICE = "invalid choice: "
_LONGEST = 60


def usage_error(message: str, parser: argparse.ArgumentParser, given: list[str] | None = None,
                takes_paths: bool = False) -> UsageError:
    """`given` is what was typed after the command."""
    hint = f"Run `{parser.prog} --help`."
    if message.startswith(_MISSING):
        names = message[len(_MISSING):].upper().replace(", ", " and ")
        return UsageError(f"`{parser.prog}` needs {names}.", hint=hint)
    if message.startswith(_UNKNOWN):
        text = message[len(_UNKNOWN):]
        if takes_paths and not text.startswith("-") and given:
            return _paths(text, parser, given)
        return _unknown(text.split(" ")[0], parser)
    if message.startswith("argument "):
        return _about_one(message[len("argument "):], hint)
    return UsageError(message[:1].upper() + message[1:] + ".", hint=hint)


def _about_one(message: str, hint: str) -> UsageError:
    what, _, problem = message.partition(": ")
    what = what if what.startswith("-") else f"The {what}" if what.islower() else what
    if problem == "expected one argument":
        return UsageError(f"{what} needs a value.", hint=hint)
    if problem.startswith(_CHOICE):
        said, _, choices = problem[len(_CHOICE):].partition(" (choose from ")
        known = choices.rstrip(")").replace("'", "")
        return UsageError(f"{what} cannot be {said}; choose from {known}.", hint=hint)
    if problem.startswith(("invalid int value: ", "invalid float value: ")):
        return UsageError(f"{what} must be a number, not {problem.partition(': ')[2]}.", hint=hint)
    return UsageError(f"{what}: {problem}.", hint=hint)


def _paths(text: str, parser: argparse.ArgumentParser, given: list[str]) -> UsageError:
    """The right form of `restore 1 src`, to be copied. `text` has the words that are too many."""
    kept = list(given)
    extra: list[str] = []
    for at in reversed(range(len(given))):
        if text == given[at] or text.endswith(f" {given[at]}"):
            text = text[:-len(given[at])].rstrip(" ")
            extra.insert(0, kept.pop(at))
    command = " ".join([parser.prog, *map(shlex.quote, kept), "--", *map(shlex.quote, extra)])
    return UsageError(f"Put `--` before paths: {command}", hint=f"Run `{parser.prog} --help` for examples.")


def _unknown(word: str, parser: argparse.ArgumentParser) -> UsageError:
    import difflib

    if not word.startswith("-"):
        return UsageError(f"`{parser.prog}` takes no argument \"{word}\".",
                          hint=f"Run `{parser.prog} --help`.")
    known = [option for action in parser._actions for option in action.option_strings]
    near = difflib.get_close_matches(word, known, n=1)
    guess = f". Did you mean {near[0]}?" if near else "."
    return UsageError(f"`{parser.prog}` has no option {word}{guess}", hint=f"Run `{parser.prog} --help`.")


# names that match nothing

def near_commands(error: RewindError, argv: list[str]) -> list[tuple[str, str]]:
    """The command line with each word that may have been meant, to be copied, and what that word means."""
    return [(_command(argv, error.word, near), shortened(" ".join(meaning.split()), _LONGEST))
            for near, meaning in error.near]


def _command(argv: list[str], word: str, near: str) -> str:
    words = [_replaced(arg, word, near) for arg in argv]
    if words == argv:
        words = ["show", near]
    return " ".join(["rewind", *map(shlex.quote, words)])


def _replaced(arg: str, word: str, near: str) -> str:
    """The word may stand alone, in `CHECKPOINT:PATH`, or at an end of a range."""
    if arg == word:
        return near
    if arg.startswith(f"{word}:"):
        return near + arg[len(word):]
    ends = arg.split("..")
    return "..".join(near if end == word else end for end in ends) if len(ends) == 2 else arg
