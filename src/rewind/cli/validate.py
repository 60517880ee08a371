"""Check the configuration, the history and every checkpoint.

Without `--deep`: whether everything is there. With it, all content is read and compared with its
hash, which takes time in a large store.
"""

from __future__ import annotations

import sys

from rewind.cli.progress import ProgressLine
from rewind.cli.session import note, open_controller, print_json
from rewind.cli.style import plural, safe, style_for
from rewind.errors import DAMAGED, DONE, FAILED

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from rewind.controller import Controller

summary = "check the configuration and every checkpoint"
examples = ("rewind validate", "rewind validate --deep        # read everything")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--deep", action="store_true", help="read all content and check its hashes")


def run(args: argparse.Namespace) -> int:
    controller = open_controller(args, forgiving=True)
    with ProgressLine() as progress:
        problems = controller.validate(deep=args.deep, progress=progress)
    code = _exit_code(controller, problems)
    if args.json:
        print_json({"ok": not problems, "problems": problems, "deep": args.deep})
        return code
    paint = style_for(sys.stdout)
    for problem in problems:
        print(f"{paint('!', 'red')} {safe(problem)}")
    if problems:
        note(f"{plural(len(problems), 'problem')} found.")
    else:
        count = len(controller.state.timeline.all())
        print(f"{paint('ok', 'green')}: {plural(count, 'checkpoint')}"
              + (", all content read" if args.deep else ""))
    return code


def _exit_code(controller: Controller, problems: list[str]) -> int:
    """Damage is what the configuration and an interrupted restore do not explain."""
    if not problems:
        return DONE
    mild = [*controller.config_problems(), *_interrupted(problems)]
    return FAILED if all(problem in mild for problem in problems) else DAMAGED


def _interrupted(problems: list[str]) -> list[str]:
    return [p for p in problems if p.startswith("A restore of ") and "was interrupted" in p]
