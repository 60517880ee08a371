"""`rewind show t4`: what was asked, and what changed by tools, by shell commands, and by you before it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rewind.cli.look.list.list_turns import changed, running_turns
from rewind.cli.open_and_answer import note
from rewind.cli.output.change_lines import change_lines, painted, renames_in
from rewind.cli.output.style import paint, path_json
from rewind.controller import Controller
from rewind.words import age, one_line, plural, safe

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.map.turn_map import MapRow
    from rewind.checkpoint.records.timeline import Brief
    from rewind.cli.output.style import PathJson

    class ChangedPath(PathJson):
        by: list[str]

    class Edit(TypedDict):
        before: str
        after: str

    class TurnJson(TypedDict):
        turn: int | None
        session_id: str | None
        prompt: str
        before: str | None
        after: str | None
        changed: list[ChangedPath]
        commands: list[str]
        edit: Edit | None

_FIRST = 20
_WIDE = 19
_COMMANDS = 5


class Turn:
    """A row of the list and what belongs to it."""

    def __init__(self, controller: Controller, row: MapRow, edit: MapRow | None) -> None:
        self.row = row
        self.edit = edit  # what was changed by hand before it
        self.running = row.session in running_turns(controller, [row])
        self.tools = controller.tools_of(row)
        self.who: dict[bytes, list[str]] = {}
        if row.before and row.after:
            self.who = controller.who_changed(row.before.name, row.after.name)

    def groups(self) -> dict[str, list[bytes]]:
        """Who -> the paths."""
        found: dict[str, list[bytes]] = {}
        for path, names in sorted(self.who.items()):
            found.setdefault(" and ".join(names), []).append(path)
        return found


def find_turn(controller: Controller, text: str) -> Turn | None:
    """None where no checkpoint belongs to that turn."""
    session, number = controller.select_turn(text)
    rows = [row for row in controller.turn_map(everywhere=True) if row.kind == "turn"]
    controller.add_map_facts(rows, 1.0)
    row = next((row for row in rows if row.session == session.session_id and row.turn == number), None)
    row = row or _in_parent(controller, rows, text)
    if row is None:
        return None
    edit = row.parent if row.parent and row.parent.kind == "edit" else None
    return Turn(controller, row, edit if edit and edit.after is row.before else None)


def _in_parent(controller: Controller, rows: list[MapRow], text: str) -> MapRow | None:
    """A fork's first turns took place in the session that it was made from."""
    before = controller.select(text).record.name
    return next((row for row in rows if row.before and row.before.name == before), None)


def print_turn(controller: Controller, turn: Turn, name: str) -> None:
    row = turn.row
    here = paint("  ◀ here", "green") if row.here else ""
    print(f"{paint(f'turn {row.turn}', 'cyan')} of {(row.session or '')[:8]}{here}")
    print(f"  {one_line(row.text)}")
    local = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row.time))
    _fact("asked", f"{local} ({age(row.time)})")
    _fact("before", _checkpoint(row.before))
    state = "is still running" if turn.running else "did not finish"
    _fact("after", _checkpoint(row.after) if row.after else f"not captured: the turn {state}")
    _fact("changed", changed(row, turn.running))
    for title, paths in turn.groups().items():
        _print_group(controller, f"by {title}", row, paths)
    for at, command in enumerate(turn.tools.commands[:_COMMANDS]):
        _fact("" if at else "ran", f"{paint('$', 'dim')} {safe(command)}")
    if len(turn.tools.commands) > _COMMANDS:
        _fact("", f"… and {plural(len(turn.tools.commands) - _COMMANDS, 'more command')}")
    if turn.edit:
        _print_group(controller, "by you, before it", turn.edit, None)
    if sys.stdout.isatty():
        note(f"What it did:           rewind diff {name} {name}+\n"
             f"Go back to before it:  rewind restore {name}")


def _fact(title: str, text: str) -> None:
    print(f"  {paint(f'{title:<{_WIDE}}', 'dim')}{text}")


def _checkpoint(b: Brief | None) -> str:
    return f"{b.sequence}  {paint(b.name, 'dim')}" if b else ""


def _print_group(controller: Controller, title: str, row: MapRow, paths: list[bytes] | None) -> None:
    assert row.before and row.after
    with controller.diff(row.before.name, row.after.name) as difference:
        found = change_lines(difference, renames_in(difference), paths)
    for at, (sign, text) in enumerate(found[:_FIRST]):
        _fact("" if at else title, painted(sign, text))
    if len(found) > _FIRST:
        _fact("", f"… and {len(found) - _FIRST:,} more;"
                  f" `rewind diff --stat {row.before.sequence} {row.after.sequence}` shows all.")


def turn_json(turn: Turn) -> TurnJson:
    row = turn.row
    return {"turn": row.turn, "session_id": row.session, "prompt": row.text,
            "before": row.before.name if row.before else None, "after": row.after.name if row.after else None,
            "changed": [{**path_json(path), "by": names} for path, names in sorted(turn.who.items())],
            "commands": turn.tools.commands,
            "edit": {"before": turn.edit.before.name, "after": turn.edit.after.name}
            if turn.edit and turn.edit.before and turn.edit.after else None}
