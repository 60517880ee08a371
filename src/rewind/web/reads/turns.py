"""The turns of a session: pages of them, single turns and blocks, the outline, and turns in figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.controller import Controller
from rewind.errors import TurnNotFound
from rewind.web.reads import shapes
from rewind.web.reads.query import Query

if TYPE_CHECKING:
    from rewind.checkpoint.map.session_shape import SessionShape
    from rewind.transcript.turns.turn_figures import TurnFigures
    from rewind.web.reads import answer_types, parts

_FROM_THE_END = -1_000_000_000  # a negative number counts from the end
_MOST_TURNS = 100
_MOST_OUTLINED = 1000
_LONGEST_BLOCK = 1 << 20
_FIGURES: dict[str, dict[int, TurnFigures]] = {}  # session -> what was read about its turns
_MOST_REMEMBERED = 20
_PATIENCE = 1.5  # seconds for counting changes; the page asks again for the rest


def turns(controller: Controller, query: Query) -> answer_types.TurnPage:
    start = query.number("from", 1, low=_FROM_THE_END)
    count = query.number("count", 30, low=1, high=_MOST_TURNS)
    return _turns(controller, query.session, start, count, wants_html(query))


def last_turns(controller: Controller, session: str) -> answer_types.TurnPage:
    """The last two turns, for a page that follows the session. Two, because the changes of a turn are known
    when the next turn begins."""
    return _turns(controller, session, -2, 2, True)


def _turns(controller: Controller, session: str, start: int, count: int,
           rendered: bool) -> answer_types.TurnPage:
    # Asked before and after reading: if the session is busy at either time, no turn can be rewound to.
    before = controller.is_busy(session)
    page = controller.turns(session, start, count)
    return {"sessionId": session, "total": page.total, "from": page.first,
            "busy": before or controller.is_busy(session),
            "turns": [shapes.turn(view, rendered) for view in page.turns]}


def wants_html(query: Query) -> bool:
    """Whether the page wants texts as HTML, and tools without their input and output."""
    return query.choice("render", ("text", "html")) == "html"


def block(controller: Controller, query: Query) -> answer_types.OneBlock:
    """One block of a turn, with its whole text."""
    said = controller.said(query.session, query.place("n"), _LONGEST_BLOCK)
    at = query.place("block", low=0)
    if said is None or at >= len(said.blocks):
        raise TurnNotFound(turn=query.place("n"), total=0)
    return {"block": shapes.whole_block(said.blocks[at])}


def one_turn(controller: Controller, query: Query) -> answer_types.OneTurn:
    before = controller.is_busy(query.session)
    page = controller.turns(query.session, query.place("n"), 1, whole=True)
    if not page.turns:
        raise TurnNotFound(turn=query.place("n"), total=page.total)
    return {"busy": before or controller.is_busy(query.session),
            "turn": shapes.turn(page.turns[0], wants_html(query))}


def outline(controller: Controller, query: Query) -> answer_types.Outline:
    index = controller.turn_index(query.session)
    start = _start(query, index.total)
    count = query.number("count", _MOST_OUTLINED, low=1, high=_MOST_OUTLINED)
    rows = index.turns(max(1, start - 1), start + count - 1)
    before = rows[0].offset if rows and rows[0].turn == start - 1 else -1
    found: list[parts.TurnTitle] = []
    for row in rows:
        if row.turn is not None and row.turn >= start:
            found.append({"turn": row.turn, "prompt": row.prompt[:120], "timestamp": row.stamp,
                          "compactedBefore": index.is_compacted_between(before, row.offset)})
            before = row.offset
    return {"total": index.total, "turns": found}


def _start(query: Query, total: int) -> int:
    start = query.number("from", 1, low=_FROM_THE_END)
    return max(1, total + 1 + start if start < 0 else start)


def future(controller: Controller, query: Query) -> answer_types.Future:
    """The parent's turns after the cut, counted from 1."""
    info = controller.session(controller.session_file(query.session).session_id)
    parents = {one.session_id: one for one in controller.sessions()}
    parent = parents.get(info.parent or "")
    cut = info.rewind_from_turn
    if parent is None or cut is None:
        return {"parentSessionId": info.parent, "fromTurn": cut, "total": 0, "turns": []}
    total = max(0, len(parent.turns) - cut)
    start = _start(query, total)
    page = controller.turns(parent.session_id, cut + start,
                            query.number("count", 30, low=1, high=_MOST_TURNS))
    return {"parentSessionId": parent.session_id, "fromTurn": cut, "total": max(0, page.total - cut),
            "turns": [shapes.turn(view, wants_html(query)) for view in page.turns]}


def shape(controller: Controller, query: Query) -> answer_types.SessionShape:
    """Every turn in a few numbers, and the marks on the session."""
    found = shape_of(controller, query.session)
    start = max(1, query.number("from", 1))
    return {"sessionId": query.session, "total": found.total, "complete": found.complete, "here": found.here,
            "turns": [shapes.turn_figures(one) for one in found.turns[start - 1:]]}


def shape_of(controller: Controller, session: str) -> SessionShape:
    """Every turn in figures. What was read about the turns is remembered."""
    if session not in _FIGURES and len(_FIGURES) >= _MOST_REMEMBERED:
        _FIGURES.pop(next(iter(_FIGURES)), None)
    return controller.shape(session, _FIGURES.setdefault(session, {}), _PATIENCE)
