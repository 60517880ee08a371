"""Show what differs between two checkpoints, or between one and the project as it is now.

Without names: what changed since the last checkpoint. The output is a patch that `git apply` and
`patch -p1` take; binary and very large files are one line each.
"""

from __future__ import annotations

import shutil
import sys

from rewind.cli.arguments import project_paths
from rewind.cli.diffstat import stat_lines
from rewind.cli.pager import add_pager_option, paged
from rewind.cli.patch import for_terminal, patch
from rewind.cli.progress import ProgressLine
from rewind.cli.session import note, open_controller, print_json
from rewind.cli.style import kind_of, path_json, style_for
from rewind.controller import compare

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable
    from typing import Any

    from rewind.cli.patch import Line
    from rewind.controller import Difference
    from rewind.snapshot.compare import Comparison

summary = "show what differs between checkpoints, or from the project now"
examples = ("rewind diff                   # since the last checkpoint",
            "rewind diff --stat t4 t4+     # what turn 4 did",
            "rewind diff 10m -- src/app.py docs")
takes_paths = True


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", nargs="?", default="last", metavar="A",
                        help="the checkpoint to start from (default: last)")
    parser.add_argument("new", nargs="?", metavar="B",
                        help="the checkpoint to compare with (default: the project as it is now)")
    parser.add_argument("--stat", action="store_true", help="only count the changed lines of each path")
    add_pager_option(parser)


def run(args: argparse.Namespace) -> int:
    controller = open_controller(args)
    paths = project_paths(args.paths, controller.project)
    progress = ProgressLine()
    with controller.diff(args.old, args.new, paths=paths, progress=progress) as difference:
        progress.clear()
        if args.json:
            print_json(_json(difference, args.stat))
        else:
            with paged(args):
                _print_stat(difference) if args.stat else _print_patch(difference)
        if not difference.changes and not args.json:
            note(f"Nothing differs between {difference.old.name} and {difference.new.name}")
    return 0


def _compared(difference: Difference) -> list[Comparison]:
    return [compare(path, old, new, difference.old.content, difference.new.content)
            for path, old, new in difference.changes]


def _print_stat(difference: Difference) -> None:
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 80
    for line in stat_lines(_compared(difference), style_for(sys.stdout), columns):
        print(line)


def _print_patch(difference: Difference) -> None:
    for path, old, new in difference.changes:
        _write(patch(path, old, new, difference.old.content, difference.new.content))


def _write(lines: Iterable[Line]) -> None:
    raw = None if sys.stdout.isatty() else getattr(sys.stdout, "buffer", None)
    if raw is None:
        paint = style_for(sys.stdout)
        for line in lines:
            print(for_terminal(line, paint))
        return
    sys.stdout.flush()
    for _, text in lines:
        raw.write(text + b"\n")


def _json(difference: Difference, stat: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"old": difference.old.name,
                             "new": difference.new.name if difference.new.is_checkpoint else None,
                             "added": [], "modified": [], "deleted": []}
    counts: dict[bytes, Any] = {}
    if stat:
        counts = {one.path: one.counts for one in _compared(difference)}
        known = [count for count in counts.values() if count]
        found["insertions"], found["deletions"] = sum(i for i, _ in known), sum(d for _, d in known)
    for path, old, new in difference.changes:
        entry = new or old
        assert entry is not None
        more: dict[str, Any] = {"kind": kind_of(entry), "oldSize": old.size if old else None,
                                "newSize": new.size if new else None,
                                "oldMode": f"{old.mode:04o}" if old else None,
                                "newMode": f"{new.mode:04o}" if new else None}
        if stat:
            more["insertions"], more["deletions"] = counts[path] or (None, None)
        group = "added" if old is None else "deleted" if new is None else "modified"
        found[group].append(path_json(path, **more))
    return found
