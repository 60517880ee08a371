"""The sessions of the project, how they branch, and two of them compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewind.controller import Controller
from rewind.web.reads import shapes
from rewind.web.reads.query import Query
from rewind.web.reads.turns import wants_html

if TYPE_CHECKING:
    from rewind.checkpoint.conversations.session_tree import SessionInfo
    from rewind.checkpoint.map.compare_sessions import Compared
    from rewind.checkpoint.map.turn_views import TurnPage
    from rewind.web.reads import answer_types, parts


def sessions(controller: Controller, query: Query) -> answer_types.Sessions:
    infos = controller.sessions()
    trash: dict[str | None, answer_types.DeletedFork] = {
        one["sessionId"]: {"sessionId": one["sessionId"], "title": one["title"]}
        for one in controller.deleted_forks()}
    return {"sessions": [shapes.session(controller, info) for info in infos],
            "trash": list(trash.values()), "warnings": _warnings(controller, infos)}


def _warnings(controller: Controller, infos: list[SessionInfo]) -> list[parts.WarnedWithHint]:
    most = controller.setting("branches.max")
    made = sum(1 for info in infos if info.made_by_rewind)
    if made <= most:
        return []
    return [{"code": "too-many-branches", "message": f"There are {made} branches, more than {most}.",
             "hint": "Select those you do not need and delete them; that can be undone."}]


def graph(controller: Controller, query: Query) -> answer_types.Graph:
    """What the list of sessions does not tell about how they branch."""
    infos = controller.sessions()
    rewinds, at = controller.native_rewinds(infos), controller.turn_of_current_code(infos)
    return {"here": {"sessionId": at[0], "turn": at[1]} if at else None,
            "rewinds": [{"sessionId": id, "turn": one.turn, "left": one.left,
                         "prompt": one.first.prompt[:120], "timestamp": one.first.stamp}
                        for id, found in rewinds.items() for one in found]}


def compare(controller: Controller, query: Query) -> answer_types.Compared:
    ids = [controller.session_file(query.text(key, 200)).session_id for key in ("a", "b")]
    a, b, found = controller.compare_sessions(*ids)
    return {"common": found.common, "a": _side(controller, query, a, found.a),
            "b": _side(controller, query, b, found.b), "code": _code_of_both(found)}


def _side(controller: Controller, query: Query, info: SessionInfo, page: TurnPage) -> answer_types.Side:
    return {"session": shapes.session(controller, info), "total": page.total,
            "turns": [shapes.turn(view, wants_html(query)) for view in page.turns]}


def _code_of_both(found: Compared) -> answer_types.CodeOfBoth:
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
