"""The map as rows of the timeline: the lanes in front of each, what is folded, and which of them a filter
leaves."""

from __future__ import annotations

from collections.abc import Hashable, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

from rewind.controller import CHECKPOINT, EDIT, LANE, NOW, OPERATION, PROMPT, SESSION, lane_shape
from rewind.graph import NODE, lanes, nearest_shown
from rewind.tui.parts.screen_words import signed
from rewind.words import file_count, is_large_deletion, one_line, plural, short_age

if TYPE_CHECKING:
    from rewind.checkpoint.map.by_session import Item

Key = tuple[str, ...]

_MANY = 150  # rows before older sessions are folded
_TURNED = str.maketrans("╯┴", "╮┬")  # the graph is made newest first, and shown newest last
_SESSION_COLOURS = ("cyan", "magenta", "green", "blue", "yellow", "red")


@dataclass
class Row:
    """`lane` is its piece of the graph, `inner`: a checkpoint within a turn, `hidden`: how many rows are
    folded away below it."""

    item: Item
    inner: bool = False
    hidden: int = 0
    lane: str = ""


def rows_of(items: list[Item], wanted: str = "", opened: Set[Key] = frozenset(),
            folded: Set[Key] = frozenset()) -> list[Row]:
    """`opened` are turns whose checkpoints are shown, `folded` sessions whose turns are not."""
    words = wanted.casefold().split()
    if words:
        rows = [Row(item) for item in _matching(items, words)]
    else:
        rows = _unfolded(items, opened, folded)
    for row, lane in zip(rows, _lanes(rows)):
        row.lane = lane
    return rows


def folded_at_first(items: list[Item]) -> set[Key]:
    """In a long list, all sessions except the last two and the one that the project stands on."""
    if len(items) <= _MANY:
        return set()
    last = list(dict.fromkeys(item.session_id for item in reversed(items) if item.session_id))[:2]
    kept = {*last, *(item.session_id for item in items if item.here)}
    return {item.key for item in items if item.kind == SESSION and item.session_id not in kept}


def _unfolded(items: list[Item], opened: Set[Key], folded: Set[Key]) -> list[Row]:
    headings = {item.session_id: Row(item) for item in items if item.kind == SESSION and item.key in folded}
    rows: list[Row] = []
    for item in items:
        heading = headings.get(item.session_id)
        if item.kind == SESSION:
            rows.append(heading or Row(item))
        elif heading and item.kind in (PROMPT, EDIT) and not item.here:
            heading.hidden += 1
        else:
            is_open = item.key in opened
            rows.append(Row(item, hidden=0 if is_open else len(item.under)))
            rows += [Row(one, inner=True) for one in item.under] if is_open else []
    return rows


def _lanes(rows: list[Row]) -> list[str]:
    shown = {id(row.item.row) for row in rows if row.item.row and _is_node(row)}
    pairs: list[tuple[Hashable, Hashable | None] | None] = []
    for row in reversed(rows):
        own = row.item.row
        if row.item.kind == NOW:
            pairs.append(("now", nearest_shown(own, shown)))
        else:
            pairs.append((id(own), nearest_shown(own.parent, shown)) if own and _is_node(row) else None)
    return [lane.translate(_TURNED) for lane in lanes(pairs)[::-1]]


def _is_node(row: Row) -> bool:
    return not row.inner and row.item.kind in (PROMPT, EDIT, CHECKPOINT, LANE)


def _matching(items: list[Item], words: list[str]) -> list[Item]:
    """The items with every word, and their sessions as headings."""
    hits = [item for item in items if item.kind != NOW and all(word in _searched(item) for word in words)]
    sessions = {item.session_id for item in hits if item.session_id}
    chosen = {id(item) for item in hits}
    return [item for item in items if id(item) in chosen
            or (item.kind == SESSION and item.session_id in sessions)]


def _searched(item: Item) -> str:
    records = [one.record for one in (item, *item.under) if one.record]
    more = " ".join(f"{record.name} {record.trigger.get('file') or ''}" for record in records)
    own = item.session_id if item.kind == SESSION else ""
    return f"{item.text} {more} {own}".casefold()


def drawn(row: Row, width: int, now: float, marked: bool = False) -> Text:
    """One line, with the age at its right end."""
    item = row.item
    text = Text(no_wrap=True).append("▶" if marked else "", "bold yellow")
    number = _number(item)
    text.append(number[1:] if marked else number, "" if marked else "dim")
    _add_lane(text, row)
    _DRAW[item.kind](text, row)
    tail = Text().append("◀ here " if item.here and not row.inner else "", "bold yellow")
    tail.append(_size(row)).append(f"{short_age(item.time, now):>3}", "dim")
    room = max(4, width - tail.cell_len - 1)
    text.truncate(room, overflow="ellipsis", pad=True)
    return text.append(" ").append(tail)


def _add_lane(text: Text, row: Row) -> None:
    """The graph, with the row's own sign where it stands in it, or behind it."""
    sign, style = _sign(row)
    before, node, after = row.lane.partition(NODE)
    if node:
        text.append(before, "dim").append(sign, style).append(f"{after} ", "dim")
    else:
        text.append(f"{row.lane} " if row.lane else "", "dim")
        text.append(f"  {sign} " if row.inner else f"{sign} ", style)


def _sign(row: Row) -> tuple[str, str]:
    item = row.item
    if item.kind == PROMPT:
        return ("●" if item.record else "○", _colour(item))
    if item.kind == CHECKPOINT:
        by_hand = bool(item.record and item.record.kind in ("manual", "initial"))
        return ("◆", "yellow") if by_hand else ("◇", "dim yellow")
    if item.kind == SESSION:
        return ("▸" if row.hidden else "▌", _colour(item))
    if item.kind == LANE:
        return ("●" if item.turn else "⑂", "blue")
    return {EDIT: ("✎", "magenta"), OPERATION: ("↶", "yellow"), NOW: ("◉", "green")}[item.kind]


def _colour(item: Item) -> str:
    """Of its session."""
    return _SESSION_COLOURS[(ord(item.letter[0]) - ord("A")) % len(_SESSION_COLOURS)] if (
        item.letter) else "magenta" if item.depth else "cyan"


def _number(item: Item) -> str:
    """The same as in every list; a prompt has that of the checkpoint before it."""
    shown = item.record and item.kind in (PROMPT, CHECKPOINT)
    return f"{item.record.sequence if shown and item.record else '':>3} "


def _size(row: Row) -> Text:
    """`+12 −3 ` behind a turn; `!` where it deleted a lot. The files, where not all lines were counted."""
    found = row.item.changes
    if row.inner or not found or not file_count(found):
        return Text()
    mark = "! " if is_large_deletion(found) else ""
    size = signed(found["added"], found["removed"]) if found["counted"] else Text()
    size = size if size.cell_len else Text(plural(file_count(found), "file"), "dim")
    return Text(mark, "bold red").append(size).append(" ")


def _session(text: Text, row: Row) -> None:
    info = row.item.session
    assert info is not None
    archived = "dim " if info.archived else ""
    title, _, turn = row.item.text.partition(" · from turn ")
    text.append(f"{row.item.letter} " if row.item.letter else "", _colour(row.item))
    text.append(f"{plural(row.hidden, 'row')} · " if row.hidden else "", "dim")
    text.append(f"from turn {turn} · " if turn else "", "magenta")  # first, where it is not cut off
    text.append(one_line(title) or "(no title)", f"{archived}bold")
    text.append("" if row.item.depth else f" · {info.file.profile.name}", "dim")
    if info.running:
        text.append(" ● open", "green")


def _lane(text: Text, row: Row) -> None:
    """A future: its name and how it is, then its turns."""
    item = row.item
    assert item.lane is not None
    if item.turn:
        text.append(f"{item.lane.name} ", "blue").append(f"t{item.turn} ", "dim")
        text.append(one_line(item.text) or "(empty)")
        return
    text.append(item.lane.name, "bold blue")
    facts = [fact for fact in (item.lane.state, lane_shape.turns(item.lane)) if fact != "idle" and fact]
    text.append(f" · {' · '.join(facts)}" if facts else "", "dim")


def _prompt(text: Text, row: Row) -> None:
    item = row.item
    text.append(f"{item.letter} " if item.letter else "", _colour(item))
    left_behind = not item.turn
    text.append(f"t{item.turn} " if item.turn else "", "dim")
    text.append("(rewound) " if left_behind else "", "dim")
    text.append(one_line(item.text) or "(empty)", "dim" if left_behind else "")


def _checkpoint(text: Text, row: Row) -> None:
    record = row.item.record
    by_hand = bool(record and record.kind in ("manual", "initial"))
    # Below its prompt, the end of a turn need not repeat it.
    ended = row.inner and record and record.trigger.get("event") == "Stop"
    words = "after this turn" if ended else one_line(row.item.text)
    if record and record.imported and not row.inner:
        words = f"imported: {words}"
    text.append(words, "" if by_hand else "dim")


def _other(text: Text, row: Row) -> None:
    text.append(one_line(row.item.text), {NOW: "bold", EDIT: "magenta", OPERATION: "yellow"}[row.item.kind])


_DRAW = {SESSION: _session, PROMPT: _prompt, CHECKPOINT: _checkpoint, NOW: _other, EDIT: _other,
         OPERATION: _other, LANE: _lane}
