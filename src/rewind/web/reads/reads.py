"""The answers to GET requests. Each function takes a controller and the checked values of the request."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rewind import __version__
from rewind.controller import Controller
from rewind.errors import BadRequest, TurnNotFound
from rewind.web.reads import shapes
from rewind.web.reads.patches import patch_of
from rewind.web.reads.paths import named_path, paths_in
from rewind.web.reads.query import Query

if TYPE_CHECKING:
    from rewind.checkpoint.conversations.session_tree import SessionInfo
    from rewind.checkpoint.log.operations import Operation
    from rewind.checkpoint.map.compare_sessions import Compared
    from rewind.checkpoint.map.turn_views import TurnPage
    from rewind.transcript.turns.turn_figures import TurnFigures
    from rewind.transcript.turns.turn_pages import Match
    from rewind.web.reads import answers, parts

_FROM_THE_END = -1_000_000_000  # a negative number counts from the end
_MOST_TURNS = 100
_MOST_OUTLINED = 1000
_MOST_CHECKPOINTS = 500
_LONGEST_SEARCH = 200
_LONGEST_BLOCK = 1 << 20
_AROUND = 10  # checkpoints that are shown after the one that was asked for


def project(controller: Controller, query: Query | None = None) -> answers.Project:
    records, here = controller.list_checkpoints(backups=True), controller.here()
    missed = controller.missed()
    return {
        "root": controller.project.root, "name": shapes.project_name(controller.project.root),
        "version": __version__, "branchesMax": controller.setting("branches.max"),
        "storage": {"bytes": controller.disk_use(),
                    "maxBytes": int(controller.setting("storage.maxSizeMb") * (1 << 20)),
                    "checkpoints": len(records)},
        "here": here.name if here else None, "canUndo": _operation(controller, controller.to_undo()),
        "canRedo": _operation(controller, controller.to_redo()),
        "late": missed.late_json(), "missed": missed.json(),
        "interrupted": interrupted(controller), "turnRunning": controller.is_turn_running()}


def _operation(controller: Controller, op: Operation | None) -> parts.OperationName | None:
    return {"id": op.id, "at": op.at, "text": controller.describe(op)} if op else None


def interrupted(controller: Controller) -> answers.Interrupted | None:
    op = controller.interrupted()
    if not op:
        return None
    return {"operation": op.id, "checkpoint": op.checkpoint, "paths": shapes.listed(op.paths or []),
            "message": f"Some files are as in {op.checkpoint}, others are not yet. Undo it, or finish it."}


def sessions(controller: Controller, query: Query) -> answers.Sessions:
    infos = controller.sessions()
    trash: dict[str | None, answers.DeletedFork] = {
        one["sessionId"]: {"sessionId": one["sessionId"], "title": one["title"]}
        for one in controller.deleted_forks()}
    return {"sessions": [shapes.session(controller, info) for info in infos],
            "trash": list(trash.values()), "warnings": _warnings(controller, infos)}


def graph(controller: Controller, query: Query) -> answers.Graph:
    """What the list of sessions does not tell about how they branch."""
    infos = controller.sessions()
    rewinds, at = controller.native_rewinds(infos), controller.turn_of_current_code(infos)
    return {"here": {"sessionId": at[0], "turn": at[1]} if at else None,
            "rewinds": [{"sessionId": id, "turn": one.turn, "left": one.left,
                         "prompt": one.first.prompt[:120], "timestamp": one.first.stamp}
                        for id, found in rewinds.items() for one in found]}


def _warnings(controller: Controller, infos: list[SessionInfo]) -> list[parts.WarnedWithHint]:
    most = controller.setting("branches.max")
    made = sum(1 for info in infos if info.made_by_rewind)
    if made <= most:
        return []
    return [{"code": "too-many-branches", "message": f"There are {made} branches, more than {most}.",
             "hint": "Select those you do not need and delete them; that can be undone."}]


def turns(controller: Controller, query: Query) -> answers.TurnPage:
    start = query.number("from", 1, low=_FROM_THE_END)
    count = query.number("count", 30, low=1, high=_MOST_TURNS)
    return _turns(controller, query.session, start, count, _rendered(query))


def last_turns(controller: Controller, session: str) -> answers.TurnPage:
    """The last two turns, for a page that follows the session. Two, because the changes of a turn are known
    when the next turn begins."""
    return _turns(controller, session, -2, 2, True)


def _turns(controller: Controller, session: str, start: int, count: int, rendered: bool) -> answers.TurnPage:
    # Asked before and after reading: if the session is busy at either time, no turn can be rewound to.
    before = controller.is_busy(session)
    page = controller.turns(session, start, count)
    return {"sessionId": session, "total": page.total, "from": page.first,
            "busy": before or controller.is_busy(session),
            "turns": [shapes.turn(view, rendered) for view in page.turns]}


def _rendered(query: Query) -> bool:
    """Whether the page wants texts as HTML, and tools without their input and output."""
    return query.choice("render", ("text", "html")) == "html"


def block(controller: Controller, query: Query) -> answers.OneBlock:
    """One block of a turn, with its whole text."""
    said = controller.said(query.session, query.place("n"), _LONGEST_BLOCK)
    at = query.place("block", low=0)
    if said is None or at >= len(said.blocks):
        raise TurnNotFound(turn=query.place("n"), total=0)
    return {"block": shapes.whole_block(said.blocks[at])}


def one_turn(controller: Controller, query: Query) -> answers.OneTurn:
    before = controller.is_busy(query.session)
    page = controller.turns(query.session, query.place("n"), 1, whole=True)
    if not page.turns:
        raise TurnNotFound(turn=query.place("n"), total=page.total)
    return {"busy": before or controller.is_busy(query.session),
            "turn": shapes.turn(page.turns[0], _rendered(query))}


def outline(controller: Controller, query: Query) -> answers.Outline:
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


_FIGURES: dict[str, dict[int, TurnFigures]] = {}  # session -> what was read about its turns
_MOST_REMEMBERED = 20
_PATIENCE = 1.5  # seconds for counting changes; the page asks again for the rest


def shape(controller: Controller, query: Query) -> answers.SessionShape:
    """Every turn in a few numbers, and the marks on the session."""
    found = controller.shape(query.session, _known(query.session), _PATIENCE)
    start = max(1, query.number("from", 1))
    return {"sessionId": query.session, "total": found.total, "complete": found.complete, "here": found.here,
            "turns": [shapes.turn_figures(one) for one in found.turns[start - 1:]]}


def _known(session: str) -> dict[int, TurnFigures]:
    if session not in _FIGURES and len(_FIGURES) >= _MOST_REMEMBERED:
        _FIGURES.pop(next(iter(_FIGURES)), None)
    return _FIGURES.setdefault(session, {})


def search(controller: Controller, query: Query) -> answers.Matches:
    matches, more = controller.search(query.session, _wanted(query))
    return {"matches": [_match(match) for match in matches], "more": more}


def _wanted(query: Query) -> str:
    text = query.text("q", _LONGEST_SEARCH).strip()
    if not text:
        raise BadRequest("There is nothing to search for.", hint="Type a word.")
    return text


def _match(found: Match) -> parts.Match:
    return {"turn": found.turn, "where": found.where, "snippet": found.snippet, "block": found.block}


_MOST_FOUND = 20  # matches in one session
_LOOKING = 4.0  # seconds for the whole search


def find(controller: Controller, query: Query) -> answers.Found:
    """Search all sessions, the latest first: what was said, and the names of changed files."""
    text = _wanted(query)
    found: list[answers.SessionMatches] = []
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
    shape = controller.shape(session, _known(session), _PATIENCE)
    found: list[parts.Match] = [
            {"turn": one.row.turn or 0, "where": "file", "snippet": file["path"], "status": file["status"]}
             for one in reversed(shape.turns) for file in (one.changes or {}).get("files", ())
             if wanted in file["path"].casefold()]
    return found[:_MOST_FOUND // 2], shape.complete


def future(controller: Controller, query: Query) -> answers.Future:
    """The parent's turns after the cut, counted from 1."""
    info = _info(controller, query.session)
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
            "turns": [shapes.turn(view, _rendered(query)) for view in page.turns]}


def _info(controller: Controller, session_id: str) -> SessionInfo:
    file = controller.session_file(session_id)
    return controller.session(file.session_id)


def compare(controller: Controller, query: Query) -> answers.Compared:
    ids = [controller.session_file(query.text(key, 200)).session_id for key in ("a", "b")]
    a, b, found = controller.compare_sessions(*ids)
    return {"common": found.common, "a": _side(controller, query, a, found.a),
            "b": _side(controller, query, b, found.b), "code": _code_of_both(found)}


def _side(controller: Controller, query: Query, info: SessionInfo, page: TurnPage) -> answers.Side:
    return {"session": shapes.session(controller, info), "total": page.total,
            "turns": [shapes.turn(view, _rendered(query)) for view in page.turns]}


def _code_of_both(found: Compared) -> answers.CodeOfBoth:
    """A side without a checkpoint is null. Then the lists are null as well, because they are not known."""
    a, b = (record.name if record else None for record in (found.code_a, found.code_b))
    if found.changes is None:
        return {"a": a, "b": b, "added": None, "addedCount": None, "modified": None, "modifiedCount": None,
                "deleted": None, "deletedCount": None}
    added, modified, deleted = ([path for path, then, later in found.changes if (then, later) == sides]
                                for sides in ((False, True), (True, True), (True, False)))
    return {"a": a, "b": b, "added": shapes.listed(added), "addedCount": len(added),
            "modified": shapes.listed(modified), "modifiedCount": len(modified),
            "deleted": shapes.listed(deleted), "deletedCount": len(deleted)}


def checkpoints(controller: Controller, query: Query) -> answers.Checkpoints:
    records = controller.list_checkpoints(backups=True)
    before = query.number("before", 0, low=0)
    count = query.number("count", 50, low=1, high=_MOST_CHECKPOINTS)
    found = [r for r in records if not before or r.sequence < before]
    upto = query.text("upto", 100)
    if upto:  # as many checkpoints as it takes to reach that one
        at = next((n for n, r in enumerate(found) if r.name == query.checkpoint_named(upto)), 0)
        count = max(count, at + _AROUND)
    wanted = query.choice("changes", ("no", "yes")) == "yes"
    changes = controller.row_changes(found[:count], _PATIENCE) if wanted else {}
    return {"total": len(records), "checkpoints": [
        {**shapes.checkpoint(r), **shapes.row_changes(changes, r)} for r in found[:count]]}


def diff(controller: Controller, query: Query) -> answers.Diff:
    path = query.text("path", 4096)
    name, to = query.checkpoint, query.checkpoint_or_now("to")
    paths = [named_path(path, lambda: paths_in(controller.diff(name, to)))] if path else None
    with controller.diff(name, to, paths=paths) as difference:
        text, binary = patch_of(difference, bool(path))
        limit = 5000
        return {"from": difference.old.name, "to": difference.new.name,
                "added": shapes.listed(difference.added, limit),
                "modified": shapes.listed(difference.modified, limit),
                "deleted": shapes.listed(difference.deleted, limit),
                "patch": text, "binary": shapes.listed(binary)}


def operations(controller: Controller, query: Query) -> answers.Operations:
    """The log, newest first."""
    found = reversed(controller.operations())
    return {"operations": [{"id": op.id, "at": op.at, "command": op.command, "text": controller.describe(op),
                            "undone": op.undone or op.superseded, "canUndo": op.can_undo}
                           for op, _ in zip(found, range(_MOST_CHECKPOINTS))]}
