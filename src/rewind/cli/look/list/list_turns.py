"""The list by turns: the prompt, as long as the terminal allows, what changed, branches, `◀ here`."""

from __future__ import annotations

import time

from rewind.cli.output.change_counts import amount_of
from rewind.cli.output.columns import cells, cut, cut_quote, terminal_width
from rewind.cli.output.style import paint
from rewind.graph import lanes, nearest_shown
from rewind.words import age, and_more, file_count, is_large_deletion, one_line, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.map.turn_map import MapRow
    from rewind.controller import Controller

_GAP = "  "
_HERE = "◀ here"
_ROOM = 20  # columns that a text has at least
_WIDE = 100  # columns that a text has before names are shown, so that a wider terminal never shortens it
_WHOLE = 10_000  # characters of a quoted prompt; the width of the terminal limits it instead
_KINDS = {"manual": "Saved by hand", "initial": "First checkpoint", "backup": "Backup", "auto": "Checkpoint"}
_STYLES = {"graph": "blue", "turn": "dim", "age": "dim", "session": "dim", "name": "dim"}
_TO_THE_RIGHT = ("number", "age")


class Cells:
    """One row as text, column by column; nothing is cut yet."""

    def __init__(self, row: MapRow, text: str, graph: str, several: bool, now: float, place: str,
                 running: bool) -> None:
        self.row = row
        self.place = place  # its work tree or lane, if it is another one
        self.text = text
        self.number = "" if row.number is None else str(row.number)
        self.graph = graph
        self.turn = f"t{row.turn}" if row.turn else ""
        self.age = age(row.time, now).removesuffix(" ago") if row.time else ""
        self.changes = changed(row, running)
        self.session = (row.session or "")[:8] if several else ""
        self.name = row.record.name if row.record else row.op.id if row.op else ""


def all_cells(controller: Controller, rows: list[MapRow], graphs: list[str]) -> list[Cells]:
    now, running = time.time(), running_turns(controller, rows)
    several = len({row.session for row in rows if row.session}) > 1
    incomplete, own = controller.incomplete(), controller.place
    found = []
    for row, graph in zip(rows, graphs):
        text = _text(controller, row)
        if row.record and row.record.name in incomplete:
            text = f"incomplete: {incomplete[row.record.name].text}  {text}"
        at = row.record or row.after
        place = at.place if at and at.place != own else ""
        found.append(Cells(row, text, graph, several, now, place, row.session in running))
    return found


def running_turns(controller: Controller, rows: list[MapRow]) -> set[str]:
    """The sessions in which a turn is running, if one of these rows may be such a turn."""
    return controller.running_turns() if any(row.kind == "turn" and not row.after for row in rows) else set()


def graph_of(rows: list[MapRow]) -> list[str]:
    shown = {id(row) for row in rows}
    return lanes([None if row.op else (id(row), nearest_shown(row.parent, shown)) for row in rows])


def print_lines(found: list[Cells]) -> None:
    """For a pipe: tabs between the columns, and nothing cut."""
    lines = []
    for one in found:
        parts = (one.number, one.graph.strip(), one.turn, one.age, one.text, one.changes,
                 _tail(one).strip(), one.session, one.name)
        lines.append("\t".join(parts))
    if lines:
        print("\n".join(lines))


def print_table(found: list[Cells]) -> None:
    wide = terminal_width() - 1
    columns = ["number", "graph", "turn", "age", "text", "changes", "session", "name"]
    columns = [c for c in columns if c == "text" or any(getattr(one, c) for one in found)]
    widths = {c: max(cells(getattr(one, c)) for one in found) for c in columns}
    room = _fit(columns, widths, wide)
    beside = widths["changes"] if "changes" in columns else -len(_GAP)
    widths["text"] = min(room, max(_needed(one, beside) for one in found))
    for one in found:
        print(_GAP.join(_line(one, columns, widths)).rstrip())


def _line(one: Cells, columns: list[str], widths: dict[str, int]) -> list[str]:
    if one.changes or "changes" not in columns:
        return [_cell(one, c, widths[c]) for c in columns]
    longer = {**widths, "text": widths["text"] + len(_GAP) + widths["changes"]}
    return [_cell(one, c, longer[c]) for c in columns if c != "changes"]


def _needed(one: Cells, beside: int) -> int:
    """The columns of a text; without changes beside it, it has their column as well."""
    return cells(one.text) + cells(_tail(one)) - (0 if one.changes else len(_GAP) + beside)


def _tail(one: Cells) -> str:
    """The end of the text, which is never cut."""
    place = f" (in {safe(one.place)})" if one.place else ""
    return f" {_HERE}" if one.row.here else f" (rewound){place}" if one.row.abandoned else place


def _fit(columns: list[str], widths: dict[str, int], wide: int) -> int:
    """The room for the text. Names and sessions are left out unless it is wide without them."""
    def room() -> int:
        return wide - sum(widths[c] + len(_GAP) for c in columns if c != "text")

    most = room()
    for column in ("name", "session"):
        if column in columns and room() < _WIDE:
            columns.remove(column)
            most = min(room(), _WIDE)
    for column in ("turn", "changes"):
        if column in columns and most < _ROOM:
            columns.remove(column)
            most = room()
    return max(_ROOM, most)


def _cell(one: Cells, column: str, width: int) -> str:
    if column == "text":
        return _text_cell(one, width)
    if column == "changes":
        return _changes_cell(one, width)
    text: str = getattr(one, column)
    gap = " " * (width - cells(text))
    if not text.strip():
        return gap + text
    shown = paint(text, _STYLES.get(column, ""))
    return gap + shown if column in _TO_THE_RIGHT else shown + gap


def _text_cell(one: Cells, width: int) -> str:
    tail = _tail(one)
    text = (cut_quote if one.row.op else cut)(one.text, width - cells(tail))
    gap = " " * (width - cells(text) - cells(tail))
    style = {"operation": "yellow", "edit": "magenta"}.get(one.row.kind, "dim" if one.row.abandoned else "")
    return paint(text, style) + paint(tail, "green" if one.row.here else "dim") + gap


def _changes_cell(one: Cells, width: int) -> str:
    words = []
    for word in one.changes.split(" "):
        style = "green" if word.startswith("+") else "red" if word.startswith(("−", "!")) else ""
        words.append(paint(word, style))
    text = " ".join(words)
    quiet = bool(one.changes) and not any(char.isdigit() for char in one.changes)
    return (paint(one.changes, "dim") if quiet else text) + " " * (width - cells(one.changes))


def changed(row: MapRow, running: bool) -> str:
    """`+12 −3 in 2 files`, with `!` if much was deleted. `running`: a turn of its session is running."""
    if row.changes is None and row.kind == "turn" and not row.after:
        return "running" if running else "unfinished"
    if row.changes is None:
        return "…" if row.before and row.after else ""
    found = amount_of(row.changes)
    mark = "! " if found and is_large_deletion(row.changes) else ""
    return mark + (found or "no change")


def _text(controller: Controller, row: MapRow) -> str:
    if row.op:
        return f"↶ {safe(controller.describe(row.op, _WHOLE))}{', undone' if row.op.undone else ''}"
    if row.kind == "edit":
        return f"✎ {_edited(row)}"
    text = one_line(row.text)
    if row.kind == "turn":
        pinned = any(b.pinned for b in row.checkpoints)
        label = "  ★ " + (safe(row.label) or "pinned") if row.label or pinned else ""
        return (text or "(empty prompt)") + label
    kind = row.record.kind if row.record else ""
    if row.record and row.record.imported:
        return f"◆ imported: {text}"
    star = "  ★ pinned" if row.record and row.record.pinned else ""
    return f"{'◇' if kind == 'backup' else '◆'} {text or _KINDS.get(kind, kind)}{star}"


def _edited(row: MapRow) -> str:
    who = "changed meanwhile" if row.by_others else "you changed"
    if row.changes is None:
        return f"{who} files"
    names = [safe(str(file["path"])) for file in row.changes["files"]]
    if not names:
        return f"{who} directories"
    return f"{who} {and_more(names, 2, file_count(row.changes))}"
