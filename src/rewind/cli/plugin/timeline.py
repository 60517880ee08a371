"""`/timeline`: the turns of this project's conversations, forks below what they came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rewind.controller import PROMPT, Controller
from rewind.words import file_count, one_line, plural

if TYPE_CHECKING:
    from typing import TypedDict

    from rewind.checkpoint.map.by_session import Item

    class Row(TypedDict):
        of: str
        uuid: str
        turn: int | None
        depth: int
        prompt: str
        figures: str
        here: bool

MOST = 200
_LONGEST = 200


def timeline(controller: Controller, asked: Any) -> dict[str, list[Row]]:
    """Newest last, as the conversation is read. A row goes to the moment before its prompt."""
    items = controller.map_by_session().items
    items = [item for item in items if item.kind == PROMPT and item.session][-MOST:]
    figures = _figures(controller, items)
    last = max((at for at, item in enumerate(items) if _session(item) == asked.session), default=-1)
    return {"rows": [_row(item, figures, at == last) for at, item in enumerate(items)]}


def _session(item: Item) -> str:
    return item.session.session_id if item.session else ""


def _row(item: Item, figures: dict[tuple[str, int], str], here: bool) -> Row:
    text = one_line(item.text)[:_LONGEST]
    return {"of": _session(item), "uuid": item.uuid, "turn": item.turn, "depth": item.depth, "prompt": text,
            "figures": figures.get((_session(item), item.turn or 0), ""), "here": here}


def _figures(controller: Controller, items: list[Item]) -> dict[tuple[str, int], str]:
    """What each turn did to the files, as far as checkpoints tell."""
    found: dict[tuple[str, int], str] = {}
    for session in dict.fromkeys(_session(item) for item in items):
        turns = [item.turn or 0 for item in items if _session(item) == session]
        for view in controller.turns(session, min(turns), max(turns) - min(turns) + 1).turns:
            changes = view.changes
            if changes and changes["files"]:
                found[session, view.text.row.turn or 0] = (
                    f"+{changes['added']:,} −{changes['removed']:,} in {plural(file_count(changes), 'file')}")
    return found
