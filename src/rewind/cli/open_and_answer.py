"""How each command opens the project, warns about what is wrong with it, and prints its answer."""

from __future__ import annotations

import os
import sys

from rewind.controller import Controller
from rewind.errors import DONE, RewindError
from rewind.fast import quickjson
from rewind.paths import open_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    Args = argparse.Namespace
    Parser = argparse.ArgumentParser
else:
    Args = Parser = object  # for annotations only: argparse is loaded where a command line needs it


class _Verbosity:
    """How much is printed on stderr; main.py sets it for each command."""

    quiet = False
    verbose = False


verbosity = _Verbosity()

# These commands finish an interrupted restore, or report it themselves.
_REPORT_IT_THEMSELVES = ("restore", "jump", "undo-restore", "validate", "status")


def open_controller(arguments: Args, *, forgiving: bool = False) -> Controller:
    """`forgiving` is for commands that find or fix what is wrong with the configuration."""
    if arguments.project and not os.path.isdir(arguments.project) and open_project(arguments.project) is None:
        raise RewindError(f"There is no directory {arguments.project}", hint="Check the name.")
    controller = Controller(arguments.project, forgiving=forgiving)
    detail(f"project {controller.project.root}")
    detail(f"state {controller.project.state}")
    if arguments.command != "undo-restore":  # which does this itself
        _end_bisect(controller)
    if controller.notice:
        note(controller.notice)
    if arguments.command not in _REPORT_IT_THEMSELVES:
        _tell_interrupted(controller)
    return controller


def _end_bisect(controller: Controller) -> None:
    """Bring back the files that a killed `bisect --in-place` replaced."""
    try:
        outcome = controller.end_bisect()
    except RewindError as error:
        note(f"`rewind bisect` was interrupted, and its files could not be brought back: {error.message}")
        return
    if outcome and outcome.record:
        note(f"`rewind bisect` was interrupted. The files are back as they were: {outcome.record.name}")


def _tell_interrupted(controller: Controller) -> None:
    try:
        text = controller.interrupted_text()
    except RewindError:
        return  # the commands that need the log report it
    if text:
        note(text)


def note(text: str) -> None:
    """Print on stderr; stdout is for results."""
    if not verbosity.quiet:
        print(text, file=sys.stderr)


def note_some(lines: list[str], most: int, command: str) -> None:
    """The first lines of a list; `command` shows all of them."""
    for line in lines[:most]:
        note(line)
    if len(lines) > most:
        indent = "  " if lines[0].startswith("  ") else ""
        note(f"{indent}and {len(lines) - most:,} more (`{command}` lists them)")


def note_left_out(damaged: dict[str, RewindError]) -> None:
    """Checkpoints that could not be read."""
    for name, error in damaged.items():
        note(f"warning: {name} is left out: {error.message}")


def detail(text: str) -> None:
    """Print on stderr with --verbose only."""
    if verbosity.verbose:
        note(f"verbose: {text}")


def answer(args: Args, value: Mapping[str, object], text: str | Callable[[], object], *notes: str,
           code: int = DONE) -> int:
    """Print the answer of a command and return its exit code: with --json the object, else the text (or what
    it prints if it is a function) and the notes."""
    if args.json:
        print_json(value)
        return code
    if callable(text):
        text()
    else:
        print(text)
    for one in notes:
        note(one)
    return code


def print_json(value: Mapping[str, object]) -> None:
    if sys.stdout.isatty():
        import json

        print(json.dumps(value, indent=2))
    else:
        print(quickjson.dumps(value))
