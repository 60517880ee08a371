"""The command line of one command: its own options, the common ones, and paths after `--`."""

from __future__ import annotations

import os
import sys

from rewind.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable
    from types import ModuleType
    from typing import Any, NoReturn

    from rewind.paths import Project

    How = dict[str, Any]  # keyword arguments of `add_argument`

# The help text of arguments that name a checkpoint; `rewind help checkpoints` explains it.
SELECTOR = "number, name, `last`, `@`, `t4`, `10m`, or text of a prompt"


def parse(module: ModuleType, name: str, argv: list[str]) -> argparse.Namespace:
    # argparse cannot tell a name from the paths that follow `--` once an option stands between them.
    head, tail = argv, None
    if "--" in argv:
        cut = argv.index("--")
        head, tail = argv[:cut], argv[cut + 1:]
    words: list[str] = []
    if tail is not None and getattr(module, "takes_text", False):
        words, tail = tail, None
    arguments = _parse_plain(module, head, words) or _parse_fully(module, name, head, words)
    if tail is not None and not getattr(module, "takes_paths", False):
        raise UsageError(f"`rewind {name}` takes no paths.", hint=f"Run `rewind {name} --help`.")
    arguments.paths = tail
    arguments.command = name
    return arguments


def _parse_fully(module: ModuleType, name: str, head: list[str], words: list[str]) -> argparse.Namespace:
    parser = make_parser(module, name, head)
    arguments = parser.parse_args([*head, "--", *words] if words else head)
    for action in parser._actions:
        if action.dest not in getattr(module, "may_be_empty", ()):
            _refuse_empty(action, getattr(arguments, action.dest, None), name)
    return arguments


def _refuse_empty(action: argparse.Action, value: Any, name: str) -> None:
    """What is left out often means everything, so an empty value (from an unset variable) is refused."""
    if value == "" or (isinstance(value, list) and "" in value):
        what = action.option_strings[-1] if action.option_strings else action.metavar or action.dest.upper()
        raise UsageError(f"The value of {what} is empty.",
                         hint="If the value comes from a variable, the variable is not set."
                              f" Run `rewind {name} --help`.")


def make_parser(module: ModuleType, name: str, given: list[str] | None = None) -> argparse.ArgumentParser:
    """`given` is what was typed after the command, for hints."""
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            from rewind.cli.parse.usage import usage_error

            raise usage_error(message, self, given, getattr(module, "takes_paths", False))

    examples = "\n".join(f"  {line}" for line in module.examples)
    parser = Parser(prog=f"rewind {name}", description=_filled(module.__doc__ or ""), allow_abbrev=False,
                    epilog=f"examples:\n{examples}",
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    _add_arguments(module, parser)
    if getattr(module, "takes_paths", False):
        rest = getattr(module, "rest", "PATH ...")
        parser.usage = parser.format_usage()[len("usage: "):].rstrip() + f" [-- {rest}]"
    return parser


def _filled(text: str) -> str:
    """Paragraphs as wide as the terminal. argparse does this with everything but a description."""
    import shutil
    import textwrap

    width = max(20, min(100, shutil.get_terminal_size().columns) - 2)
    return "\n\n".join(textwrap.fill(" ".join(part.split()), width, break_on_hyphens=False)
                       for part in text.strip().split("\n\n"))


def _add_arguments(module: ModuleType, parser: Any) -> None:
    module.arguments(parser)
    parser.add_argument("-C", "--project", metavar="DIR", help="work on the project in DIR")
    parser.add_argument("-q", "--quiet", action="store_true", help="print only errors on stderr")
    parser.add_argument("-v", "--verbose", action="store_true",
                        help="print on stderr what was examined and how long it took")
    if getattr(module, "reports", True):
        parser.add_argument("--json", action="store_true", help="print one JSON object")


# Loading argparse and building a parser takes 14 of the 47 ms of CPU time of `rewind save --if-changed`. The
# plain command lines that people and scripts type all day are parsed without it; all others go to argparse.

class _NotPlain(Exception):
    pass


class _Plain:
    """A parser for plain command lines: known switches, options with a value, positionals."""

    def __init__(self) -> None:
        self.values: dict[str, object] = {}
        self._options: dict[str, How] = {}
        self._positionals: list[How] = []

    def add_argument(self, *names: str, **how: Any) -> None:
        unknown = set(how) - {"action", "nargs", "default", "type", "choices", "metavar", "help", "dest"}
        rare = how.get("action", "store_true") != "store_true"
        if unknown or (rare and "default" not in how):
            raise _NotPlain
        how.setdefault("dest", max(names, key=len).lstrip("-").replace("-", "_"))
        if rare:  # if it is given, argparse handles it
            self.values[how["dest"]] = how["default"]
            return
        self.values[how["dest"]] = False if "action" in how else how.get("default")
        if names[0].startswith("-"):
            self._options.update(dict.fromkeys(names, how))
        else:
            self._positionals.append(how)

    def parse(self, argv: list[str], more: Iterable[str]) -> dict[str, object]:
        words, free = iter(argv), iter(self._positionals)
        for word in words:
            if not word.startswith("-"):
                self._take(next(free, None), word)
                continue
            how = self._options.get(word)
            if how and "action" in how:
                self.values[how["dest"]] = True
            else:
                value = next(words, "-")
                self._take(None if value.startswith("-") else how, value)
        for word in more:
            self._take(next(free, None), word)
        if any(how.get("nargs") != "?" for how in free):
            raise _NotPlain
        return self.values

    def _take(self, how: How | None, word: str) -> None:
        if not (how and word) or how.get("nargs", "?") != "?" or word not in how.get("choices", (word,)):
            raise _NotPlain
        try:
            self.values[how["dest"]] = how["type"](word) if "type" in how else word
        except ValueError:
            raise _NotPlain


def _parse_plain(module: ModuleType, argv: list[str], more: Iterable[str] = ()) -> Any:
    plain = _Plain()
    try:
        _add_arguments(module, plain)
        return type(sys.implementation)(**plain.parse(argv, more))  # a SimpleNamespace, without `types`
    except (_NotPlain, AttributeError):
        return None


def at_least_one(option: str, value: int | None, hint: str) -> None:
    if value is not None and value < 1:
        raise UsageError(f"{option} must be at least 1.", hint=hint)


def project_paths(paths: list[str] | None, project: Project) -> list[bytes] | None:
    """Typed paths, relative to the current directory, as paths in the project."""
    if paths is None:
        return None
    if not paths:
        raise UsageError("No path follows `--`.", hint="Name files or directories of the project.")
    return [project_path(path, project) for path in paths]


def project_path(path: str, project: Project) -> bytes:
    if not path:
        raise UsageError("A path is empty.", hint="If the path comes from a variable, the variable is not"
                                                  " set. Use `.` for the current directory.")
    inside = os.fsencode(project.root)
    # Not realpath: a symbolic link is named by its own path, not by where it leads.
    full = os.path.normpath(os.path.join(_base(inside), os.fsencode(path)))
    if not _is_within(full, inside):
        full = _through_links(full, inside)
    if not full:
        raise UsageError(f"{path} is outside the project.", hint=f"Name paths below {project.root}")
    return full[len(inside) + 1:]


def _base(inside: bytes) -> bytes:
    """What relative paths start from: the current directory if it is in the project, else the project."""
    try:
        here = os.fsencode(os.path.realpath(os.getcwd()))
    except FileNotFoundError:
        return inside
    return here if _is_within(here, inside) else inside


def _is_within(path: bytes, inside: bytes) -> bool:
    return path == inside or path.startswith(inside + b"/")


def _through_links(path: bytes, inside: bytes) -> bytes:
    """The real path of one that leads into the project through symbolic links; empty if it does not."""
    parts = path.split(b"/")
    for length in range(2, len(parts) + 1):
        place = os.path.realpath(b"/".join(parts[:length]))
        if place == inside or (length < len(parts) and _is_within(place, inside)):
            return b"/".join((place, *parts[length:]))
    return b""
