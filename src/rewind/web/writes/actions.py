"""The actions that the page asks for over the WebSocket, each with its checked fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rewind.controller import BeforeFork, BeforeOperation, BeforeUndo, Controller, is_session_id
from rewind.errors import RewindError, SessionNotFound
from rewind.web.reads import shapes
from rewind.web.reads.paths import named_paths
from rewind.web.writes import futures
from rewind.web.writes.plans import HUNK_HOW, checkpoint_target, hunk_target, turn_target
from rewind.web.writes.request import Request
from rewind.web.writes.surgery import HOW, revert_target, reverted

if TYPE_CHECKING:
    from rewind.checkpoint.conversations.session_tree import SessionInfo
    from rewind.checkpoint.rewind.target import Target
    from rewind.web.writes import answer_types

FOLLOWING = "following"


def follow(controller: Controller, request: Request) -> answer_types.Following:
    """From now on, the pushes of this connection contain what is added to the session."""
    return {"event": FOLLOWING, "sessionId": request.session(controller)}


def rewind_session(controller: Controller, request: Request) -> answer_types.SessionCreated:
    mode = request.choice("mode", ("chat", "both"))
    turn = request.number("rewindToTurn")
    name = " ".join(request.text("name", longest=200).split()) or f"Branch from turn {turn}"
    done = controller.go(turn_target(request.session(controller), turn),
                         "both" if mode == "both" else "conversation", name=name, digest=request.stamp())
    if done.conversation is None or done.conversation.fork is None:
        raise RewindError("The code was restored; the conversation starts over.",
                          hint="Start a new session in the terminal.")
    code: answer_types.CodeBroughtBack | None = None
    if done.record:
        shape = shapes.outcome(done)
        code = {"checkpoint": done.record.name, "exact": done.exact, "backup": shape["backup"],
                "written": shape["written"], "writtenCount": shape["writtenCount"],
                "deleted": shape["deleted"], "deletedCount": shape["deletedCount"],
                "kept": shape["kept"], "remaining": shape["remaining"]}
    made = controller.session(done.conversation.fork["session_id"])
    return {"event": "session_created", "session": shapes.session(controller, made), "code": code,
            "operation": done.operation, "notes": done.notes}


def fast_forward(controller: Controller, request: Request) -> answer_types.FastForwarded:
    session = request.session(controller)
    parent = controller.parent_session(session)
    if not request.switch("code"):
        return {"event": "fast_forwarded", "sessionId": parent, "code": False, "notes": []}
    done = controller.go(BeforeFork(session), "code", digest=request.stamp())
    return {"event": "fast_forwarded", "sessionId": parent, "code": done.record is not None,
            "operation": done.operation or None, "notes": done.notes}


def _updated(controller: Controller, info: SessionInfo) -> answer_types.SessionUpdated:
    fresh = controller.session(info.session_id)
    return {"event": "session_updated", "session": shapes.session(controller, fresh)}


def rename_branch(controller: Controller, request: Request) -> answer_types.SessionUpdated:
    return _updated(controller, controller.rename_fork(request.session(controller), request.text("name")))


def promote_branch(controller: Controller, request: Request) -> answer_types.SessionUpdated:
    return _updated(controller, controller.promote_fork(request.session(controller)))


def delete_branches(controller: Controller, request: Request) -> answer_types.BranchesDeleted:
    deleted = controller.delete_forks(request.sessions(controller))
    return {"event": "branches_deleted", "sessionIds": [info.session_id for info in deleted]}


def undelete_branch(controller: Controller, request: Request) -> answer_types.SessionUpdated:
    wanted = request.text("sessionId", longest=200)
    if not is_session_id(wanted) or not any(one["sessionId"] == wanted for one in controller.deleted_forks()):
        raise SessionNotFound(name=wanted[:50])
    return _updated(controller, controller.session(controller.undelete_fork(wanted)))


def save_checkpoint(controller: Controller, request: Request) -> answer_types.CheckpointCreated:
    saved = controller.save(request.text("description"))
    return {"event": "checkpoint_created", "checkpoint": shapes.checkpoint(saved.record)}


def mark_turn(controller: Controller, request: Request) -> answer_types.CheckpointCreated:
    record = controller.mark_turn(request.session(controller), request.number("turn"),
                                  request.text("name", longest=200))
    return {"event": "checkpoint_created", "checkpoint": shapes.checkpoint(record)}


def restore_checkpoint(controller: Controller, request: Request) -> answer_types.Restored:
    return _restored(controller, request, checkpoint_target(controller, request.checkpoint(),
                                                            request.paths()), "code")


def revert_turn(controller: Controller, request: Request) -> answer_types.Reverted:
    """Take back what one turn did. Everything later stays."""
    how = request.choice("how", HOW)
    target = revert_target(request.session(controller), request.number("turn"), how,
                           named_paths(request.paths()))
    return {"event": "reverted", **reverted(controller.go(target, "code", digest=request.stamp()))}


def bring_back(controller: Controller, request: Request) -> answer_types.Restored:
    """Bring back hunks of one file as they were at the first of two points. Its other changes stay."""
    how = request.choice("how", HUNK_HOW)
    ends = request.checkpoint("from"), request.checkpoint_or_now("to")
    target = hunk_target(controller, ends, request.text("path", longest=4096), request.texts("hunks"),
                         how=how, label=" ".join(request.text("label", longest=200).split()))
    return _restored(controller, request, target, "code")


def undo_restore(controller: Controller, request: Request) -> answer_types.Restored:
    return _restored(controller, request, BeforeOperation(), "both")


def redo(controller: Controller, request: Request) -> answer_types.Restored:
    return _restored(controller, request, BeforeUndo(), "both")


def _restored(controller: Controller, request: Request, target: Target, what: str) -> answer_types.Restored:
    done = controller.go(target, what, digest=request.stamp())
    return {"event": "restored", **shapes.outcome(done)}


ACTIONS: dict[str, Callable[[Controller, Request], answer_types.Answer]] = {
    action.__name__: action for action in (
        follow, rewind_session, fast_forward, rename_branch, promote_branch, delete_branches, undelete_branch,
        save_checkpoint, mark_turn, restore_checkpoint, revert_turn, bring_back, undo_restore, redo,
        futures.compare_lanes, futures.plan_adopt, futures.adopt_lane, futures.remove_lane,
        futures.undelete_lane)}
