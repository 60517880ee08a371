"""Acts like the page of `rewind ui`, with the same requests in the same order, but without a browser."""

from __future__ import annotations

import json
from typing import Any

import httpx
from websockets.sync.client import connect

from web.server import Server

_PATIENCE = 120


class Page:
    """It is opened with the address that `rewind ui` prints. After that, the cookie is the key."""

    def __init__(self, server: Server, client: httpx.Client) -> None:
        self._server = server
        self._client = client
        opened = self._client.get("/", params={"token": server.token})
        assert (opened.status_code, opened.headers["location"]) == (303, "/")
        assert self._client.get("/").status_code == 200
        (self._cookie,) = [f"{name}={value}" for name, value in self._client.cookies.items()]

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        answer = self._client.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def session(self, session: str) -> dict[str, Any]:
        return next(s for s in self.get("/api/sessions")["sessions"] if s["sessionId"] == session)

    def turns(self, session: str) -> list[dict[str, Any]]:
        return list(self.get(f"/api/sessions/{session}/turns")["turns"])

    def does(self, event: str, **fields: Any) -> dict[str, Any]:
        with connect(self._server.socket_address, origin=self._server.origin,  # type: ignore[arg-type]
                     additional_headers={"Cookie": self._cookie}, proxy=None) as socket:
            socket.send(json.dumps({"event": event, "requestId": "r1", **fields}))
            while True:
                answer = dict(json.loads(socket.recv(_PATIENCE)))
                if answer.get("requestId") == "r1":
                    assert answer["event"] != "error", answer
                    return answer

    def rewind(self, session: str, turn: int, mode: str) -> dict[str, Any]:
        """Press the button on a turn, read the plan in the dialog, and press Create Branch."""
        (shown,) = [t for t in self.turns(session) if t["turn"] == turn]
        assert shown["canRewind"], shown
        plan = self.get(f"/api/sessions/{session}/plan", turn=turn, mode=mode)
        assert plan["keeps"] == turn
        return self.does("rewind_session", sessionId=session, rewindToTurn=turn, mode=mode,
                         name=f"Branch from turn {turn}", stamp=plan["stamp"])
