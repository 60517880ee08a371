"""Show what happened, newest first: one row for each turn, with its prompt and what it changed.

Between the turns, the list has what you changed yourself, checkpoints made by hand, and what Rewind did. The
number in front is that of the checkpoint before the turn. It never changes, and every command takes it:
`rewind restore 12` goes back to before that turn. `◀ here` marks where the project stands, `!` a turn that
deleted a lot. Where the history branches, a small graph shows it. Counts of lines are exact; `at least`
marks a row with large files or more than 200 files, whose lines are not all counted.

With --checkpoints, each checkpoint has a row of its own. Paths after `--` limit the list to what changed
them. In a pipe, the columns are separated by tabs and nothing is cut: number, graph, turn, age, text,
changes, mark, session, name.
"""

from __future__ import annotations

import sys

from rewind.cli.open_and_answer import Args, Parser, detail, note, note_left_out, open_controller, print_json
from rewind.cli.output.pager import add_pager_option, paged
from rewind.cli.parse.arguments import project_paths
from rewind.controller import Controller, timestamp
from rewind.words import age, plural, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.map.turn_map import MapRow
    from rewind.checkpoint.project.missed import Missed

summary = "show the turns and what each changed, newest first"
examples = ("rewind list", "rewind list --checkpoints     # every checkpoint",
            "rewind list --all             # all of them, with backups", "rewind list -- src/app.py",
            "rewind list --json")
takes_paths = True
_SHOWN = 30
_PATIENCE = 0.25  # seconds for counting what is not known yet


def arguments(parser: Parser) -> None:
    parser.add_argument("--checkpoints", action="store_true", help="every checkpoint instead of every turn")
    parser.add_argument("--all", action="store_true", help="the whole history: backups, all work trees")
    parser.add_argument("--session", metavar="ID", help="only one agent session")
    add_pager_option(parser)


def run(args: Args) -> int:
    controller = open_controller(args)
    paths = project_paths(args.paths, controller.project)
    if args.json:
        from rewind.cli.look.list.list_json import list_json

        print_json(list_json(controller, args, paths, _rows_of(controller, args, paths)))
        return _finish(controller, args, True)
    if args.checkpoints:
        from rewind.cli.look.list.list_checkpoints import list_checkpoints

        return _finish(controller, args, list_checkpoints(controller, args, paths) > 0)
    return _finish(controller, args, _list_turns(controller, args, paths) > 0)


def _finish(controller: Controller, args: Args, found: bool) -> int:
    note_left_out(controller.damaged())
    if not args.json:
        _note_missing(controller.missed())
    if not found:
        _print_none(args)
    return 0


def _rows_of(controller: Controller, args: Args, paths: list[bytes] | None) -> list[MapRow]:
    rows = controller.turn_map(backups=args.all, session=args.session, everywhere=args.all)
    return controller.touching(rows, paths) if paths else rows


def _list_turns(controller: Controller, args: Args, paths: list[bytes] | None) -> int:
    from rewind.cli.look.list import list_turns

    rows = _rows_of(controller, args, paths)
    detail(plural(len(rows), "row"))
    if not rows:
        return 0
    graphs = list_turns.graph_of(rows)
    on_terminal = sys.stdout.isatty()
    shown = rows if args.all or not on_terminal else rows[:_SHOWN]
    waiting = controller.add_map_facts(shown, _PATIENCE)
    found = list_turns.all_cells(controller, shown, graphs)
    if not on_terminal:
        list_turns.print_lines(found)
        return len(rows)
    with paged(args):
        list_turns.print_table(found)
    if waiting:
        note(f"The changes of {plural(waiting, 'row')} (…) are not counted yet. Run the command again.")
    if len(shown) < len(rows):
        note(f"{plural(len(rows) - len(shown), 'older row')}: rewind list --all")
    return len(rows)


def _note_missing(missed: Missed) -> None:
    """Checkpoints that are still being saved, or were not made."""
    for one in missed.late:
        text = safe(str(one.get("description") or one.get("event") or ""))
        note(f"late: still being saved, since {age(timestamp(str(one['at'])))}: {text}")
    if missed.events:
        note(f"warning: {safe(missed.text)} For details: rewind doctor")


def _print_none(args: Args) -> None:
    if args.paths:
        print("No turn or checkpoint changed these paths.")
        note("To see which files there are: rewind show --files")
    elif args.session:
        print("There are no checkpoints of this session.")
        if not args.all:
            note(f"To look in all work trees: rewind list --all --session {safe(args.session)}")
        note("To see the sessions: rewind sessions list")
    else:
        print("There are no checkpoints yet.")
        note("To make one: rewind save")
