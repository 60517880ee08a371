"""The application: the page, what it reads, and its WebSocket, all of it behind `security.py`."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket

from rewind.controller import Controller
from rewind.web.reads import files, history, project, review, search, sessions, setup, turns
from rewind.web.reads.query import Query
from rewind.web.server.errors import as_rewind_error, body_of, status_of
from rewind.web.server.security import AccessMiddleware
from rewind.web.server.socket import Hub
from rewind.web.server.work import JobRunner
from rewind.web.writes import futures, plans, surgery

Read = Callable[[Controller, Query], Mapping[str, object]]  # see `reads/answer_types.py`

STATIC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "static")
_READS: dict[str, Read] = {
    "/api/project": project.project,
    "/api/setup": setup.setup,
    "/api/sessions": sessions.sessions,
    "/api/graph": sessions.graph,
    "/api/lanes": futures.lanes,
    "/api/sessions/{session}/turns": turns.turns,
    "/api/sessions/{session}/turns/{n}": turns.one_turn,
    "/api/sessions/{session}/turns/{n}/blocks/{block}": turns.block,
    "/api/sessions/{session}/outline": turns.outline,
    "/api/sessions/{session}/search": search.search,
    "/api/sessions/{session}/shape": turns.shape,
    "/api/sessions/{session}/future": turns.future,
    "/api/sessions/{session}/plan": plans.turn_plan,
    "/api/compare": sessions.compare,
    "/api/review": review.review,
    "/api/review/file": review.file,
    "/api/review/hunks": plans.hunk_plan,
    "/api/find": search.find,
    "/api/files": files.tree,
    "/api/files/log": files.log,
    "/api/files/blame": files.blame,
    "/api/sessions/{session}/revert": surgery.revert_plan,
    "/api/sessions/{session}/revert/file": surgery.revert_file,
    "/api/history": history.history,
    "/api/checkpoints": project.checkpoints,
    "/api/checkpoints/{name}/diff": project.diff,
    "/api/checkpoints/{name}/plan": plans.checkpoint_plan,
    "/api/sessions/{session}/forward": plans.forward_plan,
    "/api/operations": project.operations,
    "/api/operations/undo": plans.undo_plan,
    "/api/operations/redo": plans.redo_plan,
}


def make_app(runner: JobRunner, token: str, port: int) -> AccessMiddleware:
    hub = Hub(runner)

    async def socket(websocket: WebSocket) -> None:
        await hub.serve(websocket)

    routes = [Route("/", _page, methods=["GET"]),
              Mount("/static", StaticFiles(directory=STATIC, check_dir=False)),
              WebSocketRoute("/ws", socket),
              *(Route(path, _answering(hub, read), methods=["GET"]) for path, read in _READS.items())]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _http_error})
    return AccessMiddleware(app, token, port)


def _answering(hub: Hub, read: Read) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        given = request.query_params
        query = Query(request.path_params, {key: given.getlist(key) for key in given})
        try:
            answered = await hub.runner.run(lambda controller: read(controller, query))
            hub.note_sent(answered)
            return JSONResponse(answered)
        except Exception as error:
            found = as_rewind_error(error)
            return JSONResponse({"error": body_of(found)}, status_of(found))

    return answer


async def _page(request: Request) -> Response:
    return FileResponse(os.path.join(STATIC, "index.html"), media_type="text/html")


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": {"code": f"http-{error.status_code}", "message": str(error.detail),
                                   "hint": ""}}, error.status_code)
