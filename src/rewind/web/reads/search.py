"""Searching in one session, and in all of them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rewind.controller import Controller
from rewind.errors import BadRequest
from rewind.web.reads.query import Query
from rewind.web.reads.turns import shape_of

if TYPE_CHECKING:
    from rewind.transcript.turns.turn_pages import Match
    from rewind.web.reads import answer_types, parts

_LONGEST_SEARCH = 200
_MOST_FOUND = 20  # matches in one session
_LOOKING = 4.0  # seconds for the whole search


def search(controller: Controller, query: Query) -> answer_types.Matches:
    matches, more = controller.search(query.session, _wanted(query))
    return {"matches": [_match(match) for match in matches], "more": more}


def _wanted(query: Query) -> str:
    text = query.text("q", _LONGEST_SEARCH).strip()
    if not text:
        raise BadRequest("There is nothing to search for.", hint="Type a word.")
    return text


def _match(found: Match) -> parts.Match:
    return {"turn": found.turn, "where": found.where, "snippet": found.snippet, "block": found.block}


def find(controller: Controller, query: Query) -> answer_types.Found:
    """Search all sessions, the latest first: what was said, and the names of changed files."""
    text = _wanted(query)
    found: list[answer_types.SessionMatches] = []
    until, more, complete = time.monotonic() + _LOOKING, False, True
    infos = controller.sessions()
    known = {info.session_id for info in infos}
    for info in infos:
        if time.monotonic() > until:
            more = True
            break
        said, rest = controller.search(info.session_id, text)
        touched, counted = _touched(controller, info.session_id, text)
        complete = complete and counted
        # Turns that a fork copied from its parent are found in the parent.
        copied = (info.rewind_from_turn or 0) if info.parent in known else 0
        matches = [one for one in (*touched, *map(_match, said)) if one["turn"] > copied]
        more = more or rest or len(matches) > _MOST_FOUND
        if matches:
            found.append({"sessionId": info.session_id, "matches": matches[:_MOST_FOUND]})
    return {"found": found, "more": more, "complete": complete}


def _touched(controller: Controller, session: str, text: str) -> tuple[list[parts.Match], bool]:
    """Changed files whose path contains the text, and whether all turns are counted by now."""
    wanted = text.casefold()
    shape = shape_of(controller, session)
    found: list[parts.Match] = [
            {"turn": one.row.turn or 0, "where": "file", "snippet": file["path"], "status": file["status"]}
             for one in reversed(shape.turns) for file in (one.changes or {}).get("files", ())
             if wanted in file["path"].casefold()]
    return found[:_MOST_FOUND // 2], shape.complete
