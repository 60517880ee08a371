"""The story as rows of the timeline: what is in front of each, and which of them a filter leaves."""

from __future__ import annotations

from rich.text import Text

from rewind.controller import CHECKPOINT, NOW, PROMPT, SESSION
from rewind.tui.words import age, one_line, signed
from rewind.words import is_large_deletion, plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.story import Item

_DEEPEST = 4  # forks of forks are indented so far


class Row:
    __slots__ = ("guide", "item")

    def __init__(self, item: Item, guide: str) -> None:
        self.item = item
        self.guide = guide


def rows_of(items: list[Item], wanted: str = "") -> list[Row]:
    left = _matching(items, wanted.casefold().split()) if wanted.strip() else items
    rows: list[Row] = []
    later: set[int] = set()  # depths that go on further down
    for item in reversed(left):
        depth = min(item.depth, _DEEPEST)
        if item.session is None or (item.kind == SESSION and not depth):
            later = set()
        else:
            later = {level for level in later if level <= depth}
        rows.append(Row(item, _guide(item, depth, later)))
        if item.session is not None and not (item.kind == SESSION and not depth):
            later.discard(depth)
            later.add(depth - 1 if item.kind == SESSION else depth)
    return rows[::-1]


def _guide(item: Item, depth: int, later: set[int]) -> str:
    if item.session is None or (item.kind == SESSION and not depth):
        return ""
    bars = ["│ " if level in later else "  " for level in range(depth)]
    if item.kind == SESSION:
        return "".join(bars[:-1]) + ("├─" if depth - 1 in later else "╰─")
    if item.kind == CHECKPOINT and item.turn is not None:
        bars.append("│ " if depth in later else "  ")
    return "".join(bars)


def _matching(items: list[Item], words: list[str]) -> list[Item]:
    """Every word must occur; the sessions of what is left stay as headings."""
    hits = [item for item in items if item.kind != NOW and all(word in _searched(item) for word in words)]
    sessions = {id(item.session) for item in hits if item.session}
    chosen = {id(item) for item in hits}
    return [item for item in items if id(item) in chosen
            or (item.kind == SESSION and id(item.session) in sessions)]


def _searched(item: Item) -> str:
    record = item.record
    more = f"{record.name} {record.trigger.get('file') or ''}" if record else ""
    own = item.session.session_id if item.session and item.kind == SESSION else ""
    return f"{item.text} {more} {own}".casefold()


def drawn(row: Row, width: int, now: float) -> Text:
    """One line, with the age at its right end."""
    item = row.item
    text = Text(no_wrap=True).append(_number(item), "dim").append(row.guide, "dim")
    _DRAW[item.kind](text, item)
    tail = Text().append("◀ here " if item.here else "", "bold yellow")
    tail.append(_size(item)).append(f"{age(item.time, now):>3}", "dim")
    room = max(4, width - tail.cell_len - 1)
    text.truncate(room, overflow="ellipsis", pad=True)
    return text.append(" ").append(tail)


def _number(item: Item) -> str:
    """The same as in every list; a prompt has that of the checkpoint before it."""
    if item.kind in (SESSION, NOW):
        return ""
    return f"{item.record.sequence if item.record else '':>3} "


def _size(item: Item) -> Text:
    """`+12 −3 ` behind a turn; `!` where it deleted a lot."""
    found = item.changes
    if not found or not (found["files"] or found["more"]):
        return Text()
    mark = "! " if is_large_deletion(found) else ""
    size = signed(found["added"], found["removed"])
    size = size if size.cell_len else Text(plural(len(found["files"]) + found["more"], "file"), "dim")
    return Text(mark, "bold red").append(size).append(" ")


def _session(text: Text, item: Item) -> None:
    info = item.session
    assert info is not None
    text.append("▌", "magenta" if item.depth else "cyan")
    archived = "dim " if info.archived else ""
    title, _, turn = item.text.partition(" · from turn ")
    text.append(f"from turn {turn} · " if turn else "", "magenta")  # in front, where it is not cut off
    text.append(one_line(title) or "(no title)", f"{archived}bold")
    text.append("" if item.depth else f" · {info.file.profile.name}", "dim")
    if info.running:
        text.append(" ● open", "green")


def _prompt(text: Text, item: Item) -> None:
    text.append("● " if item.record else "○ ", "cyan")
    text.append(f"t{item.turn} ", "dim")
    text.append(one_line(item.text) or "(empty)")


def _checkpoint(text: Text, item: Item) -> None:
    by_hand = bool(item.record and item.record.kind in ("manual", "initial"))
    text.append("◆ " if by_hand else "◇ ", "yellow" if by_hand else "dim yellow")
    # Below its prompt, the end of a turn need not repeat it.
    ended = item.turn is not None and item.record and item.record.trigger.get("event") == "Stop"
    text.append("After this turn" if ended else one_line(item.text), "" if by_hand else "dim")


def _now(text: Text, item: Item) -> None:
    text.append("◉ ", "green").append("Now", "bold")


_DRAW = {SESSION: _session, PROMPT: _prompt, CHECKPOINT: _checkpoint, NOW: _now}
