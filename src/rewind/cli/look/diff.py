"""Show what differs between two checkpoints, or between one and the project as it is now.

Without names: what changed since the last checkpoint. The output is a patch that `git apply` and
`patch -p1` take; binary and very large files are one line each. --stat counts lines, finds renames, and says
who changed what: an editing tool of the agent, shell commands, or you between turns.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, BinaryIO

from rewind.cli.open_and_answer import Args, Parser, note, open_controller, print_json
from rewind.cli.output.change_lines import rename_text, renames_in
from rewind.cli.output.columns import terminal_width
from rewind.cli.output.diffstat import stat_lines, total_line
from rewind.cli.output.pager import add_pager_option, paged
from rewind.cli.output.patch import for_terminal, patch
from rewind.cli.output.progress import ProgressLine
from rewind.cli.output.style import kind_of, paint, path_json
from rewind.cli.parse.arguments import project_paths
from rewind.controller import Controller, Difference, compare
from rewind.words import explain, shown

if TYPE_CHECKING:
    from typing import Literal, TypedDict

    from rewind.cli.output.style import PathJson
    from rewind.snapshot.diff.compare import Comparison, Read
    from rewind.snapshot.diff.rename import Rename

    class _FileLines(TypedDict, total=False):
        insertions: int | None
        deletions: int | None

    class ChangedPath(PathJson, _FileLines):
        kind: str
        oldSize: int | None
        newSize: int | None
        oldMode: str | None
        newMode: str | None
        by: list[str]

    class RenamedPath(TypedDict):
        old: PathJson
        new: PathJson
        percent: int

    class _Lines(TypedDict, total=False):
        insertions: int
        deletions: int

    class DiffJson(_Lines):
        old: str
        new: str | None
        added: list[ChangedPath]
        modified: list[ChangedPath]
        deleted: list[ChangedPath]
        renamed: list[RenamedPath]

summary = "show what changed between checkpoints, or since one"
examples = ("rewind diff                   # since the last checkpoint",
            "rewind diff --stat t2..t4     # what the turns 2 to 4 did",
            "rewind diff 10m -- src/app.py docs")
takes_paths = True


def arguments(parser: Parser) -> None:
    parser.add_argument("old", nargs="?", default="last", metavar="A",
                        help="the checkpoint to start from (default: last), or a range: t2..t4, A..B")
    parser.add_argument("new", nargs="?", metavar="B",
                        help="the checkpoint to compare with (default: the project as it is now)")
    parser.add_argument("--stat", action="store_true", help="only count the changed lines of each path")
    parser.add_argument("--name-only", action="store_true", help="print only the paths, one per line")
    add_pager_option(parser)


def run(args: Args) -> int:
    controller = open_controller(args)
    paths = project_paths(args.paths, controller.project)
    progress = ProgressLine()
    old, new = (None if args.new else controller.ends(args.old)) or (args.old, args.new)
    with controller.diff(old, new, paths=paths, progress=progress) as difference:
        progress.clear()
        if args.json:
            print_json(_json(controller, difference, args.stat))
        else:
            with paged(args):
                if args.name_only:
                    _print_names(difference)
                elif args.stat:
                    _print_stat(controller, difference)
                else:
                    _print_patch(difference)
        for path, reason in difference.not_captured:
            note(f"{shown(path)} cannot be compared, because it was not captured: {explain(reason)}.")
        if not difference.changes and not difference.not_captured and not args.json:
            note(f"Nothing differs between {difference.old.name} and {difference.new.name}")
    return 0


def _compared(difference: Difference) -> list[Comparison]:
    return [compare(path, old, new, difference.old.content, difference.new.content)
            for path, old, new in difference.changes]


def _print_names(difference: Difference) -> None:
    raw = _raw_output()
    for path, _, _ in difference.changes:
        if raw is None:
            print(shown(path))
        else:
            raw.write(path + b"\n")


def _print_stat(controller: Controller, difference: Difference) -> None:
    if not difference.changes:
        return
    columns = terminal_width() if sys.stdout.isatty() else 80
    renames = renames_in(difference)
    found = _with_renames(difference, renames)
    labels = {one.new: rename_text(one) for one in renames}
    groups = _groups(controller, difference, found)
    for title, some in groups.items():
        if len(groups) > 1:
            print(paint(f"by {title}:", "bold"))
        for line in stat_lines(some, columns, labels):
            print(line)
    print(total_line(found))


def _with_renames(difference: Difference, renames: list[Rename]) -> list[Comparison]:
    """A rename is one line, with what changed besides the name."""
    moved = {one.old for one in renames} | {one.new for one in renames}
    found = [one for one in _compared(difference) if one.path not in moved]
    for one in renames:
        read_old = _content_of(difference, one.old)
        found.append(compare(one.new, one.old_entry, one.new_entry, read_old, difference.new.content))
    return sorted(found, key=lambda comparison: comparison.path)


def _content_of(difference: Difference, path: bytes) -> Read:
    return lambda _, entry, limit: difference.old.content(path, entry, limit)


def _who(controller: Controller, difference: Difference) -> dict[bytes, list[str]]:
    if not (difference.old.is_checkpoint and difference.new.is_checkpoint):
        return {}
    return controller.who_changed(difference.old.name, difference.new.name)


def _groups(controller: Controller, difference: Difference,
            found: list[Comparison]) -> dict[str, list[Comparison]]:
    """Grouped by who changed them, if that is known."""
    who = _who(controller, difference)
    groups: dict[str, list[Comparison]] = {}
    for one in found:
        groups.setdefault(" and ".join(who.get(one.path) or ["others"]), []).append(one)
    return groups


def _print_patch(difference: Difference) -> None:
    sys.stdout.flush()
    raw = _raw_output()
    for path, old, new in difference.changes:
        for line in patch(path, old, new, difference.old.content, difference.new.content):
            if raw is None:
                print(for_terminal(line))
            else:
                raw.write(line[1] + b"\n")


def _raw_output() -> BinaryIO | None:
    """Bytes in a pipe, so that every name can be read back; None on a terminal."""
    return None if sys.stdout.isatty() else getattr(sys.stdout, "buffer", None)


def _json(controller: Controller, difference: Difference, stat: bool) -> DiffJson:
    who = _who(controller, difference)
    found: DiffJson = {"old": difference.old.name,
                       "new": difference.new.name if difference.new.is_checkpoint else None,
                       "added": [], "modified": [], "deleted": [],
                       "renamed": [{"old": path_json(one.old), "new": path_json(one.new),
                                    "percent": one.percent} for one in renames_in(difference)]}
    counts: dict[bytes, tuple[int, int] | None] = {}
    if stat:
        counts = {one.path: one.counts for one in _compared(difference)}
        known = [count for count in counts.values() if count]
        found["insertions"], found["deletions"] = sum(i for i, _ in known), sum(d for _, d in known)
    for path, old, new in difference.changes:
        entry = new or old
        assert entry is not None
        lines: _FileLines = {}
        if stat:
            lines["insertions"], lines["deletions"] = counts[path] or (None, None)
        group: Literal["added", "modified", "deleted"] = (
            "added" if old is None else "deleted" if new is None else "modified")
        found[group].append({**path_json(path), "kind": kind_of(entry), "oldSize": old.size if old else None,
                             "newSize": new.size if new else None,
                             "oldMode": f"{old.mode:04o}" if old else None,
                             "newMode": f"{new.mode:04o}" if new else None, "by": who.get(path, []), **lines})
    return found
