"""Who may talk to the server, and what it does with those who may not or who talk nonsense."""

from __future__ import annotations

import errno
import json
import os
import re
import socket
import struct
import sys
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.websockets import WebSocketDisconnect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from rewind.web.server import security
from rewind.web.server.key import new_key
from rewind.web.server.socket import RateLimit
from web.scene import Shop
from web.server import Server
from web.site import ORIGIN, PORT, SOCKET, TOKEN, Site

READS = ["/", "/static/app.js", "/api/project", "/api/sessions", "/api/checkpoints", "/api/compare",
         "/api/sessions/x/turns", "/nowhere"]
WANTED = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self';"
                               " img-src 'self' data:; connect-src 'self'; font-src 'self';"
                               " base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
                               " require-trusted-types-for 'script'; trusted-types rewind",
    "x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}


# the key

def test_without_the_key_nothing_is_shown(site: Site) -> None:
    site.client.cookies.clear()
    for path in READS:
        answer = site.ask(path)
        assert answer.status_code == 403, path
        assert answer.json()["error"]["code"] == "forbidden", path


def test_a_browser_without_the_key_gets_a_page_that_is_drawn(site: Site) -> None:
    site.client.cookies.clear()
    answer = site.client.get("/", headers={"Accept": "text/html"})
    assert answer.status_code == 403 and "<pre>rewind ui</pre>" in answer.text
    drawn = re.findall(r'(?:href|src)="([^"]+)"', answer.text)
    assert len(drawn) == 4 and all(site.ask(path).status_code == 200 for path in drawn)
    assert "style=" not in answer.text, "the policy would not let it"


def test_a_wrong_key_is_none(site: Site) -> None:
    for value in ("", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), f'"{TOKEN}"', "é" * 40):
        site.client.cookies.clear()
        cookie = f"rewind_token_{PORT}={value}".encode()
        assert site.client.get("/api/project", headers=[(b"cookie", cookie)]).status_code == 403, value
        assert site.client.get("/", params={"token": value}).status_code == 403, value


def test_the_key_in_the_address_becomes_a_cookie_for_this_page_alone(site: Site) -> None:
    site.client.cookies.clear()
    answer = site.client.get(f"/?token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie and "path=/" in cookie
    assert "domain" not in cookie


def test_the_key_in_the_address_opens_the_page_only(site: Site) -> None:
    site.client.cookies.clear()
    assert site.client.get(f"/api/project?token={TOKEN}").status_code == 403
    assert site.client.get(f"/?token=x&token={TOKEN}").status_code == 403


def test_the_key_of_another_server_is_none_here(site: Site) -> None:
    site.client.cookies.clear()
    header = {"Cookie": f"rewind_token_{PORT + 1}={TOKEN}; rewind_token={TOKEN}"}
    assert site.client.get("/api/project", headers=header).status_code == 403


def test_keys_are_long_and_new_each_time() -> None:
    keys = {new_key() for _ in range(100)}
    assert len(keys) == 100 and min(map(len, keys)) >= 40


def test_keys_are_compared_in_constant_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def remembering(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr(security.hmac, "compare_digest", remembering)
    site.get("/api/project")
    assert compared == [(TOKEN.encode(), TOKEN.encode())]


# names and origins

def test_a_foreign_host_is_refused_whoever_asks(site: Site) -> None:
    for host in ("evil.example", f"evil.example:{PORT}", "127.0.0.1", "localhost", f"127.0.0.1:{PORT + 1}",
                 f"127.0.0.1.evil.example:{PORT}", "", f"[::1]:{PORT}", f"0.0.0.0:{PORT}",
                 f"127.0.0.1:{PORT}@evil.example"):
        assert site.client.get("/api/project", headers={"Host": host}).status_code == 400, host
        assert site.client.get(f"/?token={TOKEN}", headers={"Host": host}).status_code == 400, host


def test_both_names_of_this_machine_are_good(site: Site) -> None:
    for host in (f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"LOCALHOST:{PORT}"):
        headers = {"Host": host, "Cookie": f"rewind_token_{PORT}={TOKEN}"}
        assert site.client.get("/api/project", headers=headers).status_code == 200


def test_a_foreign_origin_is_refused(site: Site) -> None:
    for origin in ("https://evil.example", "null", f"http://127.0.0.1:{PORT + 1}", "file://",
                   f"https://127.0.0.1:{PORT}", f"http://127.0.0.1:{PORT}.evil.example"):
        assert site.client.get("/api/project", headers={"Origin": origin}).status_code == 403, origin
        assert site.client.get(f"/?token={TOKEN}", headers={"Origin": origin}).status_code == 403, origin


def test_only_reading_is_done_by_http(site: Site) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert site.client.request(method, "/api/sessions").status_code == 405, method


def test_every_answer_carries_the_headers(site: Site) -> None:
    answers = [site.ask(path) for path in READS]
    answers.append(site.client.get("/", headers={"Host": "evil.example"}))
    answers.append(site.client.get("/", headers={"Origin": "https://evil.example"}))
    answers.append(site.client.get(f"/?token={TOKEN}"))
    site.client.cookies.clear()
    answers.append(site.ask("/"))
    assert {answer.status_code for answer in answers} >= {200, 303, 400, 403, 404}
    for answer in answers:
        for name, value in WANTED.items():
            assert answer.headers.get_list(name) == [value], answer.url
        if not answer.url.path.startswith("/static/"):
            assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers
        assert "server" not in answer.headers


# the WebSocket

def test_a_cross_site_websocket_is_refused(site: Site) -> None:
    for headers in ({}, {"Origin": "https://evil.example"}, {"Origin": "null"},
                    {"Origin": f"http://127.0.0.1:{PORT + 1}"}, {"Origin": ORIGIN, "Host": "evil.example"},
                    {"Origin": ORIGIN, "Cookie": f"rewind_token_{PORT}=x"}):
        with pytest.raises(WebSocketDisconnect), site.client.websocket_connect(SOCKET, headers=headers):
            pytest.fail(f"it opened for {headers}")


@pytest.mark.slow
def test_a_websocket_without_the_key_is_refused(site: Site) -> None:
    site.client.cookies.clear()
    with pytest.raises(WebSocketDisconnect), site.connect():
        pass


def open_socket(server: Server, **more: Any) -> Any:
    return connect(server.socket_address, additional_headers={"Cookie": server.cookie},
                   origin=more.pop("origin", server.origin), open_timeout=90, max_size=None, proxy=None)


def test_a_cross_site_websocket_is_refused_before_it_opens(server: Server) -> None:
    for origin in ("https://evil.example", None):
        with pytest.raises(InvalidStatus) as refused:
            open_socket(server, origin=origin)
        assert refused.value.response.status_code == 403


def test_nonsense_gets_an_error_and_the_connection_stays(site: Site) -> None:
    for text in ("", "{", "nonsense", "[]", "null", "1", '"x"', "[" * 60_000, '{"event": 1}',
                 '{"event": "no-such-thing"}', '{"event": ["rewind_session"]}', "{}",
                 '{"event": "__class__"}', "\ud7ff"):
        with site.connect() as socket:
            socket.send_text(text)
            answer = socket.receive_json()
            got = answer["event"], answer["code"], answer["requestId"]
            assert got == ("error", "bad-request", None), text
            socket.send_bytes(b"\x00\xff")
            assert socket.receive_json()["event"] == "error", text
            socket.send_json({"event": "redo", "requestId": 7})
            assert socket.receive_json()["requestId"] == 7, text


def test_a_message_that_is_too_long_ends_the_connection(site: Site) -> None:
    with site.connect() as socket:
        socket.send_text(" " * (64 << 10) + "{}")
        assert socket.receive()["code"] == 1009


def test_fifty_messages_a_second_are_enough() -> None:
    limit = RateLimit()
    assert all(limit.allows(now=100 + n / 1000) for n in range(50))
    assert not limit.allows(now=100.5)
    other = RateLimit()
    assert all(other.allows(now=100 + n / 49) for n in range(500))


def test_ten_thousand_messages_end_the_connection_and_harm_nobody(server: Server) -> None:
    with open_socket(server) as socket, pytest.raises(ConnectionClosed) as closed:
        for _ in range(10_000):
            socket.send('{"event": "no-such-thing", "requestId": "x"}')
        while True:
            socket.recv(timeout=90)
    assert closed.value.rcvd is None or closed.value.rcvd.code == 1008
    with server.client() as client:
        assert client.get("/api/project").status_code == 200


@pytest.mark.slow
def test_a_message_of_100_megabytes_is_refused_while_it_comes_in(server: Server) -> None:
    before = server.resident()
    with open_socket(server) as socket, pytest.raises(ConnectionClosed) as closed:
        socket.send("x" * (100 << 20))
        socket.recv(timeout=90)
    assert closed.value.rcvd is None or closed.value.rcvd.code == 1009
    assert server.resident() - before < 20_000
    with server.client() as client:
        assert client.get("/api/project").status_code == 200


def handshake(server: Server) -> socket.socket:
    """A WebSocket that is open, as bytes."""
    raw = socket.create_connection(("127.0.0.1", server.port), timeout=90)
    raw.sendall((f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nUpgrade: websocket\r\n"
                 f"Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                 f"Sec-WebSocket-Version: 13\r\nOrigin: {server.origin}\r\nCookie: {server.cookie}\r\n\r\n"
                 ).encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += raw.recv(4096)
    assert answer.startswith(b"HTTP/1.1 101"), answer
    return raw


FRAMES = [
    b"\x81\x05hello",  # not masked
    b"\xf1\x80\x00\x00\x00\x00",  # reserved bits
    b"\x83\x80\x00\x00\x00\x00",  # an unknown kind
    b"\x81\xff" + struct.pack(">Q", 1 << 62) + b"\0" * 20,  # four exabytes to come
    b"\x89\xfe\x01\x00" + b"\0" * 300,  # a long ping
    b"\x81\x82\x00\x00\x00\x00\xff\xfe",  # no UTF-8
    b"\x00" * 50, os.urandom(1000)]


def test_a_malformed_frame_ends_that_connection_alone(server: Server) -> None:
    for frame in FRAMES:
        raw = handshake(server)
        with raw:
            raw.sendall(frame)
            raw.shutdown(socket.SHUT_WR)
            while raw.recv(4096):
                pass
        with server.client() as client, open_socket(server) as fine:
            assert client.get("/api/project").status_code == 200, frame
            fine.send(json.dumps({"event": "redo", "requestId": "still here"}))
            assert json.loads(fine.recv(timeout=90))["requestId"] == "still here", frame


REQUESTS = [
    b"nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n",
    b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nCookie: " + b"a" * 200_000 + b"\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\nx"]


def test_malformed_http_is_refused(server: Server) -> None:
    for request in REQUESTS:
        answer = answer_to(server, request)
        assert not answer or answer.split(b" ")[1].startswith(b"4"), (request[:80], answer)
        with server.client() as client:
            assert client.get("/api/project").status_code == 200, request[:80]


def answer_to(server: Server, request: bytes) -> bytes:
    """Nothing, where the server hangs up on it, which may be before all of it is sent."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=90) as raw:
        try:
            raw.sendall(request)
            raw.shutdown(socket.SHUT_WR)
            return raw.recv(4096)
        except OSError as error:
            if not isinstance(error, ConnectionError) and error.errno != errno.ENOTCONN:
                raise
            return b""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sockets are looked up in /proc")
def test_nothing_listens_beyond_this_machine(server: Server) -> None:
    assert server.listening_addresses() == {f"0100007F:{server.port:04X}"}


# ids and paths

ODD = ["..", "../../etc/passwd", "..%2F..%2Fetc%2Fpasswd", "%2e%2e", "a/b", ".hidden", "x" * 300, "a\0b",
       "%00", "é", "a b", "*", "~root", "-", "C:\\x"]


def test_an_odd_session_id_is_never_made_into_a_path(site: Site) -> None:
    for what, name in product(("turns", "turns/1", "outline", "search?q=x", "future", "plan?turn=1"), ODD):
        answer = site.client.get(f"/api/sessions/{name if '%' in name else quote(name, safe='')}/{what}")
        assert answer.status_code in (400, 403, 404), (what, name, answer.text)
        assert "root:" not in answer.text, (what, name)


ACTIONS = ["rewind_session", "fast_forward", "rename_branch", "promote_branch", "mark_turn",
           "undelete_branch"]


def test_no_action_takes_an_odd_session_id(site: Site) -> None:
    for event, id in product(ACTIONS, (*ODD, "", None, 1, ["x"], {"$ne": ""}, True)):
        answer = site.do(event, sessionId=id, rewindToTurn=1, turn=1, name="x", mode="chat", code=False)
        assert answer["event"] == "error", (event, id, answer)
        assert answer["code"] in ("session-not-found", "bad-request"), (event, id, answer)


def test_a_part_of_a_session_id_is_not_enough(site: Site) -> None:
    site.fails(404, f"/api/sessions/{site.session[:8]}/turns")
    site.refuses("session-not-found", "rename_branch", sessionId=site.session[:8], name="x")


def test_a_session_of_another_project_does_not_exist_here(site: Site, shop: Shop, tmp_path: Path) -> None:
    other = shop.other_project(tmp_path)
    assert other not in site.sessions()
    for what in ("turns", "turns/1", "outline", "search?q=secret", "future", "plan?turn=1"):
        answer = site.client.get(f"/api/sessions/{other}/{what}")
        assert answer.status_code == 404 and "a secret" not in answer.text
    site.fails(404, "/api/compare", a=other, b=site.session)
    site.refuses("session-not-found", "rewind_session", sessionId=other, rewindToTurn=1, mode="chat")
    site.refuses("session-not-found", "delete_branches", sessionIds=[other])
    site.refuses("session-not-found", "rename_branch", sessionId=other, name="mine")


def test_no_path_leads_out_of_the_project(site: Site, shop: Shop) -> None:
    name = site.get("/api/checkpoints")["checkpoints"][0]["name"]
    before = shop.files()
    for path in ("../secret", "/etc/passwd", "a/../../b", "", ".", "a//b", "a\0b", "x" * 5000):
        for what in ("diff", "plan") if path else ():
            answer = site.ask(f"/api/checkpoints/{name}/{what}", path=path)
            assert answer.status_code in (400, 404), (path, answer.text)
        refused = site.do("restore_checkpoint", name=name, paths=[path])
        assert refused["code"] in ("bad-request", "path-not-found"), (path, refused)
        assert shop.files() == before, path


def test_a_checkpoint_is_named_in_full(site: Site) -> None:
    for name in ("last", "1", "../x", "20260101_000000_001", "2026", "x" * 500):
        assert site.ask(f"/api/checkpoints/{quote(name, safe='')}/diff").status_code == 404, name
        site.refuses("checkpoint-not-found", "restore_checkpoint", name=name)


def test_only_the_files_of_the_page_are_served(server: Server) -> None:
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd",
                 "/static/%2fetc%2fpasswd", "/static/"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=90) as raw:
            raw.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
                        f"Cookie: {server.cookie}\r\nConnection: close\r\n\r\n".encode())
            answer = b""
            while piece := raw.recv(65536):
                answer += piece
        assert answer.split(b" ")[1] == b"404", (path, answer[:200])


def test_what_transcripts_say_comes_as_json_and_never_as_a_page(site: Site, shop: Shop) -> None:
    shop.work("<script>alert(1)</script><img src=x onerror=alert(2)>", **{"<b>x": "</script>"})
    own = f"/api/sessions/{site.session}"
    for path in ("/api/sessions", "/api/checkpoints", f"{own}/turns", f"{own}/outline",
                 f"{own}/search?q=script"):
        assert site.ask(path).headers["content-type"] == "application/json"
    said = site.of_session("turns", **{"from": -1})["turns"][0]
    assert said["prompt"] == "<script>alert(1)</script><img src=x onerror=alert(2)>"


def test_an_error_tells_nothing_of_the_inside(site: Site, monkeypatch: pytest.MonkeyPatch,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    from rewind.controller import Controller

    def broken(self: Controller) -> None:
        raise ValueError("with a secret in it")

    monkeypatch.setattr(Controller, "sessions", broken)
    answer = site.ask("/api/sessions")
    assert answer.status_code == 500
    assert "secret" not in answer.text and "Traceback" not in answer.text
    assert "with a secret in it" in capsys.readouterr().err  # the terminal has it
