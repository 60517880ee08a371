"""List every reason why Rewind might not protect this project, each with its fix. Nothing is changed.

The exit code is 0 when there is no problem; warnings do not count.
"""

from __future__ import annotations

import os

from rewind.cli.open_and_answer import Args, Parser, answer
from rewind.cli.output.style import paint
from rewind.errors import DONE, FAILED, RewindError
from rewind.install.doctor.doctor import examine
from rewind.install.doctor.finding import OK, PROBLEM, WARNING, Finding
from rewind.paths import current_dir, rewind_home
from rewind.words import safe

summary = "find out why a project might not be protected"
examples = ("rewind doctor", "rewind doctor -C ~/src/app")
_COLOURS = {OK: "green", WARNING: "yellow", PROBLEM: "red"}
_INDENT = " " * 9


def arguments(parser: Parser) -> None:
    """It has no options of its own."""


def run(args: Args) -> int:
    if args.project and not os.path.isdir(args.project):
        raise RewindError(f"There is no directory {args.project}", hint="Check the name.")
    start = args.project or os.environ.get("REWIND_PROJECT_ROOT") or current_dir()
    found = examine(rewind_home(), start)
    well = all(one.status != PROBLEM for one in found)
    return answer(args, {"ok": well, "checks": [one._asdict() for one in found]}, lambda: _print(found),
                  code=DONE if well else FAILED)


def _print(found: list[Finding]) -> None:
    for one in found:
        print(f"{paint(f'{one.status:<8}', _COLOURS[one.status])} {safe(one.message)}")
        if one.fix:
            print(f"{_INDENT}{paint(safe(one.fix), 'dim')}")
