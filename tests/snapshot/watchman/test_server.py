"""Finding Watchman's socket, and talking to whatever is behind it."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Callable

import pytest

from rewind.snapshot.watchman import bser
from rewind.snapshot.watchman.server import NoAnswer, Refused, Server
from rewind.snapshot.watchman.where import find_socket, start_server


@contextmanager
def someone(path: Path, behave: Callable[[socket.socket], None]) -> Iterator[str]:
    """A process that listens there, and is not Watchman."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(1)

    def serve() -> None:
        try:
            caller, _ = listener.accept()
            with caller:
                caller.recv(1 << 16)
                behave(caller)
        except OSError:
            pass  # the caller has had enough

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield str(path)
    finally:
        listener.close()
        thread.join(90)


def for_ever(caller: socket.socket) -> None:
    while True:
        caller.sendall(b"\x00\x01\x06" + (1 << 20).to_bytes(8, "little") + b"\x00" * 1000)


def too_long(caller: socket.socket) -> None:
    caller.sendall(b"\x00\x01\x06" + (1 << 40).to_bytes(8, "little"))
    caller.recv(1)


@pytest.mark.parametrize("behave", [
    lambda caller: caller.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    lambda caller: caller.sendall(bser.dumps([1, 2])),
    lambda caller: caller.sendall(bser.dumps({"clock": "c:1:2"})[:-3]),
    lambda caller: caller.recv(1),
    lambda caller: None,
    for_ever, too_long,
], ids=["other protocol", "no object", "cut off", "silent", "hangs up", "never ends", "too long"])
def test_who_does_not_talk_like_watchman_is_none(tmp_path: Path,
                                                 behave: Callable[[socket.socket], None]) -> None:
    with someone(tmp_path / "sock", behave) as path:
        server = Server(path, 0.3)
        with pytest.raises(NoAnswer):
            server.ask("version")
        server.close()


def test_an_error_that_it_reports_is_told_apart(tmp_path: Path) -> None:
    said = bser.dumps({"error": "not watched"})
    with someone(tmp_path / "sock", lambda caller: caller.sendall(said)) as path:
        server = Server(path, 5)
        with pytest.raises(Refused, match="not watched"):
            server.ask("query")
        server.close()


def test_nobody_listens(tmp_path: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "sock"))
    listener.close()
    with pytest.raises(NoAnswer):
        Server(str(tmp_path / "sock"), 1)


def bound(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    here = os.getcwd()
    os.chdir(path.parent)  # the address of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)
    return str(path)


def test_the_socket_is_where_watchman_puts_it(tmp_path: Path) -> None:
    named, temporary = bound(tmp_path / "named"), bound(tmp_path / "tmp" / "me-state" / "sock")
    modern = bound(tmp_path / "state" / "watchman" / "me-state" / "sock")
    env = {"USER": "me", "TMPDIR": str(tmp_path / "tmp"), "XDG_STATE_HOME": str(tmp_path / "state")}
    assert find_socket({**env, "WATCHMAN_SOCK": named}) == named
    assert find_socket(env) == temporary
    assert find_socket({**env, "TMPDIR": str(tmp_path)}) == modern
    assert find_socket({**env, "USER": "../me"}) == ""


def test_without_a_state_directory_of_its_own_the_socket_is_below_the_home(tmp_path: Path) -> None:
    path = bound(tmp_path / ".local" / "state" / "watchman" / "me-state" / "sock")
    assert find_socket({"USER": "me", "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}) == path


def test_where_watchman_cannot_be_started_there_is_no_socket(tmp_path: Path,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert start_server() == ""
    for says in ("no JSON", '["sockname"]', '{"sockname": 1}', '{"sockname": "/nowhere"}'):
        (tmp_path / "watchman").write_text(f"#!/bin/sh\necho '{says}'\n")
        (tmp_path / "watchman").chmod(0o755)
        assert start_server() == "", says


def test_what_is_no_socket_of_ours_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(bound(tmp_path / "sock"))
    for name in ("file", "link", "nothing", "x" * 300, "a\0b"):
        assert find_socket({"WATCHMAN_SOCK": str(tmp_path / name)}) == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a socket that belongs to someone else")
def test_another_users_socket_is_not_taken(tmp_path: Path) -> None:
    path = bound(tmp_path / "sock")
    os.chown(path, 65534, 65534)
    assert find_socket({"WATCHMAN_SOCK": path}) == ""
