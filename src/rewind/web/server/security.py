"""Who may use the server: the person who has the token, from our own page, under our own host name.

A page of another site in the same browser can send requests here, but it lacks the cookie (SameSite) and has
another `Origin`, and after a DNS rebinding another `Host`.
"""

from __future__ import annotations

import hmac
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
                  " connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none';"
                  " frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types rewind")
_ALWAYS = ((b"content-security-policy", CONTENT_POLICY.encode()),
           (b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"),
           (b"x-frame-options", b"DENY"), (b"cross-origin-opener-policy", b"same-origin"),
           (b"cross-origin-resource-policy", b"same-origin"))


class AccessMiddleware:
    """ASGI middleware around everything, WebSockets included."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app = app
        self._token = token.encode()
        self._hosts = {f"127.0.0.1:{port}".encode(), f"localhost:{port}".encode()}
        self._origins = {b"http://" + host for host in self._hosts}
        # The cookies of a host go to all of its ports, so each server has a cookie name of its own.
        self.cookie = f"rewind_token_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, _with_headers(scope, send))
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: Response
        if not self._is_our_host(scope):
            answer = PlainTextResponse("This server does not go by that name.", 400)
        elif not self._has_no_foreign_origin(scope):
            answer = _refused("This page belongs to another site.")
        elif scope["path"] == "/" and self._brings_token(scope):
            answer = self._welcome()
        elif not self._has_token(scope) and scope["path"] not in _DRAWN_WITH:
            answer = _locked(scope)
        else:
            await self.app(scope, receive, send)
            return
        await answer(scope, receive, send)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        origins = _headers(scope, b"origin")
        if (self._is_our_host(scope) and len(origins) == 1 and origins[0] in self._origins
                and self._has_token(scope)):
            await self.app(scope, receive, send)
            return
        await receive()  # the request to connect
        await send({"type": "websocket.close", "code": 1008, "reason": ""})  # the client gets a 403

    def _is_our_host(self, scope: Scope) -> bool:
        hosts = _headers(scope, b"host")
        return len(hosts) == 1 and hosts[0].lower() in self._hosts

    def _has_no_foreign_origin(self, scope: Scope) -> bool:
        return all(origin in self._origins for origin in _headers(scope, b"origin"))

    def _brings_token(self, scope: Scope) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")[:1000]).get("token", [])
        return len(given) == 1 and self._is_token(given[0])

    def _has_token(self, scope: Scope) -> bool:
        return any(self._is_token(value) for header in _headers(scope, b"cookie")
                   for value in _cookie(header, self.cookie))

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token)

    def _welcome(self) -> RedirectResponse:
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self.cookie, self._token.decode(), httponly=True, samesite="strict", path="/")
        return answer


def _headers(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key == name]


def _cookie(header: bytes, name: str) -> list[str]:
    pairs = (part.strip().partition("=") for part in header.decode("latin-1")[:20_000].split(";"))
    return [value for key, _, value in pairs if key == name]


def _refused(message: str) -> JSONResponse:
    return JSONResponse({"error": {"code": "forbidden", "message": message,
                                   "hint": "Run `rewind ui` and open the address it prints."}}, 403)


_LOCKED = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rewind: no key</title>
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/style/base.css">
<link rel="stylesheet" href="/static/style/dialogs.css">
<script src="/static/theme.js"></script></head>
<body><main class="locked">
<h1>This address has no valid key.</h1>
<p>The page of Rewind opens with the whole address that the command prints, which ends in a key. Run it again
in your project, and open what it prints:</p>
<pre>rewind ui</pre>
<p class="muted">Is it running already? Its terminal shows the address. The key stays the same when the server
is started again, until <code>ui.json</code> in the state directory is deleted.</p>
</main></body></html>
"""
# The files that this page needs. They are the same in every copy of Rewind.
_DRAWN_WITH = ("/static/icon.svg", "/static/style/base.css", "/static/style/dialogs.css", "/static/theme.js")


def _locked(scope: Scope) -> Response:
    """A person gets a page, a program gets JSON."""
    if scope["path"] == "/" and any(b"text/html" in value for value in _headers(scope, b"accept")):
        return HTMLResponse(_LOCKED, 403)
    return _refused("This page has no valid key for the server.")


def _with_headers(scope: Scope, send: Send) -> Send:
    is_static = scope["path"].startswith("/static/")

    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = message.get("headers", [])
            caching = (b"cache-control", b"no-cache" if is_static else b"no-store")
            message["headers"] = [*given, *_ALWAYS, caching]
        await send(message)

    return with_headers
