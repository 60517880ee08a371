"""The application in this process, with requests like those of a browser."""

from __future__ import annotations

import warnings
from types import TracebackType
from typing import Any, Optional

import httpx

from rewind.web.app import make_app
from rewind.web.server.work import JobRunner
from web.scene import Shop

PORT = 8123
TOKEN = "a-key-that-is-only-for-tests-0123456789"
ORIGIN = f"http://127.0.0.1:{PORT}"
SOCKET = f"ws://127.0.0.1:{PORT}/ws"


def _client(app: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions ask for another httpx
        from starlette.testclient import TestClient

        return TestClient(app, base_url=ORIGIN, follow_redirects=False)


class Site:
    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.session = shop.session
        app = make_app(JobRunner(str(shop.cli.project), str(shop.cli.home / ".rewind")), TOKEN, PORT)
        self.client = _client(app)

    def __enter__(self) -> Site:
        self.client.__enter__()
        assert self.client.get(f"/?token={TOKEN}").status_code == 303
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.client.__exit__(kind, error, trace)

    def ask(self, path: str, /, **query: Any) -> httpx.Response:
        found: httpx.Response = self.client.get(path, params=query)
        return found

    def get(self, path: str, /, **query: Any) -> dict[str, Any]:
        answer = self.ask(path, **query)
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert isinstance(found, dict)
        return found

    def fails(self, status: int, path: str, /, **query: Any) -> dict[str, Any]:
        answer = self.ask(path, **query)
        assert answer.status_code == status, answer.text
        error = answer.json()["error"]
        assert error["code"] and error["message"] and isinstance(error["hint"], str)
        return dict(error)

    def of_session(self, what: str, session: str = "", /, **query: Any) -> dict[str, Any]:
        return self.get(f"/api/sessions/{session or self.session}/{what}", **query)

    def sessions(self) -> dict[str, dict[str, Any]]:
        return {one["sessionId"]: one for one in self.get("/api/sessions")["sessions"]}

    def connect(self) -> Any:
        return self.client.websocket_connect(SOCKET, headers={"Origin": ORIGIN})

    def do(self, event: str, /, **fields: Any) -> dict[str, Any]:
        """Send one action over a new connection. Returns any answer."""
        with self.connect() as socket:
            socket.send_json({"event": event, "requestId": "r", **fields})
            while True:
                message = socket.receive_json()
                if message.get("requestId") == "r":
                    return dict(message)

    def does(self, event: str, /, **fields: Any) -> dict[str, Any]:
        answer = self.do(event, **fields)
        assert answer["event"] != "error", answer
        return answer

    def refuses(self, code: str, event: str, /, **fields: Any) -> dict[str, Any]:
        answer = self.do(event, **fields)
        assert (answer["event"], answer["code"]) == ("error", code), answer
        return answer
