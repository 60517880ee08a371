"""The WebSocket: requests, one answer to each, and pushes to every open page."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from rewind.errors import BadRequest
from rewind.web.reads.turns import last_turns
from rewind.web.server.errors import as_rewind_error, body_of
from rewind.web.server.news import UnsentChanges
from rewind.web.server.watch import Watch
from rewind.web.server.work import JobRunner
from rewind.web.writes.actions import ACTIONS, FOLLOWING
from rewind.web.writes.request import Request

if TYPE_CHECKING:
    from rewind.jsonfile import JsonObject
    from rewind.web.reads.answer_types import TurnPage
    from rewind.web.writes.answer_types import Following, Push, TellsOfSessions

MOST_BYTES = 64 << 10
MOST_A_SECOND = 50
_TOO_MUCH = 1008
_TOO_BIG = 1009
_INTERVAL = 1.0
_PATIENCE = 5.0
_PAGES = 32


class RateLimit:
    """Allows a number of messages in any second."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=MOST_A_SECOND)

    def allows(self, now: float) -> bool:
        too_many = len(self._times) == self._times.maxlen and now - self._times[0] < 1.0
        self._times.append(now)
        return not too_many


class Hub:
    """The open pages, and the watcher that runs while there is one."""

    def __init__(self, runner: JobRunner) -> None:
        self.runner = runner
        self._pages: set[WebSocket] = set()
        self._followed: dict[WebSocket, UnsentChanges] = {}  # for the session that a page shows
        self._watcher: asyncio.Task[None] | None = None
        # Made inside the running loop, as Python 3.9 requires.
        self._look_soon: asyncio.Event | None = None
        self._looked: asyncio.Event | None = None
        self._disk_watch = Watch()

    async def serve(self, socket: WebSocket) -> None:
        if len(self._pages) >= _PAGES:
            await socket.accept()
            await socket.close(_TOO_MUCH)
            return
        self._pages.add(socket)
        try:
            await self._first_look()
            await socket.accept()
            await self._talk(socket)
        except WebSocketDisconnect:
            pass
        finally:
            self._pages.discard(socket)
            self._followed.pop(socket, None)

    def note_sent(self, answer: Mapping[str, object]) -> None:
        """Note what a page has read, so that later changes are pushed."""
        says = cast("TellsOfSessions", answer)
        self._disk_watch.note_sent(says.get("sessions") or ([says["session"]] if "session" in says else []))

    async def _first_look(self) -> None:
        """Wait for the watcher's first look. A page reads everything once it is connected, and a change
        between that and a later first look would be lost."""
        if self._watcher is None or self._watcher.done() or self._looked is None:
            self._look_soon, self._looked, self._disk_watch = asyncio.Event(), asyncio.Event(), Watch()
            self._watcher = asyncio.create_task(self._watch(self._disk_watch, self._look_soon, self._looked))
        await self._looked.wait()

    async def _talk(self, socket: WebSocket) -> None:
        jobs: asyncio.Queue[str] = asyncio.Queue(MOST_A_SECOND)
        worker = asyncio.create_task(self._work(socket, jobs))
        try:
            await self._receive(socket, jobs)
        finally:
            # A job that has begun is finished. The others are dropped with their page.
            worker.cancel()

    async def _receive(self, socket: WebSocket, jobs: asyncio.Queue[str]) -> None:
        limit = RateLimit()
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text") or ""  # a binary message is not JSON, and is refused as such
            if len(text) > MOST_BYTES:
                await socket.close(_TOO_BIG)
                return
            if not limit.allows(time.monotonic()) or jobs.full():
                await socket.close(_TOO_MUCH)
                return
            jobs.put_nowait(text)

    async def _work(self, socket: WebSocket, jobs: asyncio.Queue[str]) -> None:
        while True:
            answer = await asyncio.shield(asyncio.ensure_future(self.answer(await jobs.get())))
            if answer["event"] == FOLLOWING:
                self._followed[socket] = UnsentChanges(cast("Following", answer)["sessionId"])
            await _send(socket, answer)
            if self._look_soon:
                self._look_soon.set()

    async def answer(self, text: str) -> Mapping[str, object]:
        request_id: object = None
        try:
            data = _parsed(text)
            request_id = data.get("requestId")
            request_id = request_id if isinstance(request_id, (str, int)) else None
            action = ACTIONS.get(str(data.get("event")))
            if action is None:
                raise BadRequest("There is no such action.")
            found = await self.runner.run(lambda controller: action(controller, Request(data)))
            self.note_sent(found)
            return {**found, "requestId": request_id}
        except Exception as error:
            return {"event": "error", **body_of(as_rewind_error(error)), "requestId": request_id}

    async def _watch(self, watch: Watch, look_soon: asyncio.Event, looked: asyncio.Event) -> None:
        while self._pages:
            try:
                events = await self.runner.run(watch.look)
            except Exception:
                events = []  # something may be missing for a moment; the next look reports it
            looked.set()
            for event in events:
                await self._tell_all(event)
            try:
                await asyncio.wait_for(look_soon.wait(), _INTERVAL)
            except asyncio.TimeoutError:
                pass
            look_soon.clear()

    async def _tell_all(self, event: Push) -> None:
        last: dict[str, TurnPage | None] = {}  # the last turns of sessions, read once for all pages
        for socket in list(self._pages):
            unsent = self._followed.get(socket)
            message = await self._message_for(event, unsent, last) if unsent else event
            try:
                await asyncio.wait_for(_send(socket, message), _PATIENCE)
            except Exception:
                self._pages.discard(socket)  # it is gone or does not listen, and others are waiting

    async def _message_for(self, event: Push, unsent: UnsentChanges,
                           last: dict[str, TurnPage | None]) -> Mapping[str, object]:
        """The event with what was added to the session that a page follows, so that the page need not ask."""
        if event["event"] == "session_updated":
            return unsent.session_changes(event)
        session = unsent.session
        about = event["event"] == "checkpoints_changed" or (
            event["event"] == "turns_added" and event["sessionId"] == session)
        if not about:
            return event
        if session not in last:
            try:
                last[session] = await self.runner.run(lambda controller: last_turns(controller, session))
            except Exception:
                last[session] = None  # the page then asks, and gets the error
        page = last[session]
        return {**event, "page": unsent.page_changes(page)} if page else event


def _parsed(text: str) -> JsonObject:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise BadRequest("That was not JSON.")
    if not isinstance(data, dict):
        raise BadRequest("That was not an object.")
    return data


async def _send(socket: WebSocket, message: Mapping[str, object]) -> None:
    if socket.application_state is not WebSocketState.CONNECTED:
        return
    try:
        await socket.send_text(json.dumps(message, separators=(",", ":")))
    except (RuntimeError, WebSocketDisconnect):
        pass  # it was closed meanwhile
