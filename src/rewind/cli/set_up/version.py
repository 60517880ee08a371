"""Print the version of Rewind and of the Python that runs it."""

from __future__ import annotations

import sys

from rewind import __version__
from rewind.cli.open_and_answer import Args, Parser, answer

summary = "print the version"
examples = ("rewind version", "rewind version --json")


def arguments(parser: Parser) -> None:
    """It has no options of its own."""


def run(args: Args) -> int:
    python = sys.version.split()[0]
    return answer(args, {"version": __version__, "python": python, "executable": sys.executable},
                  f"rewind {__version__} (Python {python})")
