"""Sorting the words of a command into options, their values, and operands."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container


def operands(words: list[str], valued: Container[str] = ()) -> list[str]:
    """The words that are no options, nor values of the options in `valued`."""
    found: list[str] = []
    skip = False
    for i, word in enumerate(words):
        if skip:
            skip = False
        elif word == "--":
            return found + words[i + 1 :]
        elif not word.startswith("-") or word == "-":
            found.append(word)
        else:
            skip = word in valued
    return found


def values(words: list[str], *options: str) -> list[str]:
    """Every value of these options, as `--option=value` or `--option value`."""
    found = [value for word, value in zip(words, words[1:]) if word in options]
    pairs = (word.partition("=") for word in words if "=" in word)
    return found + [value for option, _, value in pairs if option in options]


def has_flag(words: list[str], short: str, long: str) -> bool:
    """Whether a switch is among them, alone (`-R`), in a cluster (`-fR`) or by its long name."""
    for word in words:
        if word.startswith("--"):
            if word.partition("=")[0] == long:
                return True
        elif word.startswith("-") and short in word:
            return True
    return False
