"""The command line of one command: its own options, the common ones, and paths after `--`."""

from __future__ import annotations

import argparse
import os

from rewind.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import NoReturn

    from rewind.paths import Project


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message[:1].upper() + message[1:] + ".", hint=f"Run `{self.prog} --help`.")


def _formatter(prog: str) -> argparse.HelpFormatter:
    # Left to itself argparse imports shutil for the width, also when there is no help to format.
    try:
        width = min(os.get_terminal_size(1).columns, 100)
    except OSError:
        width = 100
    return argparse.RawDescriptionHelpFormatter(prog, width=width)


def make_parser(module: ModuleType, name: str) -> argparse.ArgumentParser:
    examples = "\n".join(f"  {line}" for line in module.examples)
    parser = _Parser(prog=f"rewind {name}", description=module.__doc__,
                     epilog=f"examples:\n{examples}", allow_abbrev=False,
                     formatter_class=_formatter)
    module.arguments(parser)
    parser.add_argument("-C", "--project", metavar="DIR", help="work on the project in DIR")
    if getattr(module, "reports", True):
        parser.add_argument("--json", action="store_true", help="print one JSON object")
    if getattr(module, "takes_paths", False):
        parser.usage = parser.format_usage()[len("usage: "):].rstrip() + " [-- PATH ...]"
    return parser


def parse(module: ModuleType, name: str, argv: list[str]) -> argparse.Namespace:
    # argparse cannot tell a name from the paths that follow `--` once an option stands between them.
    head, tail = argv, None
    if "--" in argv:
        cut = argv.index("--")
        head, tail = argv[:cut], argv[cut + 1:]
    arguments = make_parser(module, name).parse_args(head)
    if tail is not None and not getattr(module, "takes_paths", False):
        raise UsageError(f"`rewind {name}` takes no paths.", hint=f"Run `rewind {name} --help`.")
    arguments.paths = tail
    arguments.command = name
    return arguments


def project_paths(paths: list[str] | None, project: Project) -> list[bytes] | None:
    """Paths as typed, relative to the current directory, made relative to the project."""
    if paths is None:
        return None
    if not paths:
        raise UsageError("No path follows `--`.", hint="Name files or directories of the project.")
    inside = os.fsencode(project.root)
    here = os.fsencode(os.path.realpath(os.getcwd()))
    base = here if here == inside or here.startswith(inside + b"/") else inside
    found = []
    for path in paths:
        # Not realpath: a symbolic link is named by its own path, not by where it leads.
        full = os.path.normpath(os.path.join(base, os.fsencode(path)))
        if full != inside and not full.startswith(inside + b"/"):
            raise UsageError(f"{path} is outside the project.",
                             hint=f"Name paths below {project.root}")
        found.append(full[len(inside) + 1:])
    return found
