"""Asking an agent: Codex's `app-server` reads and writes JSON, one object a line, on its standard streams.

This is used only where there is no file to read or write: to name a session, and to see whether the person
trusts our hooks. It needs no login and no network, and every caller can do without an answer.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time

from rewind.agents.profile import Profile
from rewind.jsonfile import JsonObject

_PATIENCE = 10.0  # seconds for all of it
_CLIENT = {"clientInfo": {"name": "rewind", "title": "Rewind", "version": "1"}, "capabilities": {}}


class NoAnswer(Exception):
    """The agent is not installed, took too long, or does not understand the question."""


def name_session(profile: Profile, session_id: str, name: str, folder: str) -> None:
    """From then on, Codex 0.166 lists the session under this name. Its file does not change."""
    _ask(profile, "thread/name/set", {"threadId": session_id, "name": name}, folder)


def hooks_of(profile: Profile, folder: str) -> list[JsonObject]:
    """The hooks that run in a directory, each with `command` and `trustStatus`."""
    answer = _ask(profile, "hooks/list", {"cwds": [folder]}, folder)
    try:
        return [hook for one in answer["data"] for hook in one["hooks"] if isinstance(hook, dict)]
    except (KeyError, TypeError):
        raise NoAnswer("an answer that is not understood") from None


def _ask(profile: Profile, method: str, params: JsonObject, folder: str) -> JsonObject:
    command: list[str] = list(profile.commands.get("server") or [])
    program = shutil.which(command[0]) if command else None
    if program is None:
        raise NoAnswer(f"{command[0] if command else profile.name} is not on PATH")
    try:
        with subprocess.Popen([program, *command[1:]], cwd=folder, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            try:
                return _Talk(process).ask(method, params)
            finally:
                _end(process)
    except (OSError, ValueError) as error:
        raise NoAnswer(str(error)) from None


def _end(process: subprocess.Popen[bytes]) -> None:
    """The server ends when its standard input is closed."""
    assert process.stdin
    try:
        process.stdin.close()
        process.wait(2)
    except (OSError, subprocess.TimeoutExpired):
        process.kill()


class _Talk:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin and process.stdout
        self._into, self._out = process.stdin.fileno(), process.stdout.fileno()
        self._until = time.monotonic() + _PATIENCE
        self._rest = b""

    def ask(self, method: str, params: JsonObject) -> JsonObject:
        self._send({"id": 1, "method": "initialize", "params": _CLIENT})
        self._answer(1)
        self._send({"method": "initialized"})
        self._send({"id": 2, "method": method, "params": params})
        return self._answer(2)

    def _send(self, message: JsonObject) -> None:
        os.write(self._into, json.dumps(message).encode() + b"\n")

    def _answer(self, id: int) -> JsonObject:
        while True:
            try:
                message = json.loads(self._line())
            except ValueError:
                continue  # not a message
            if not isinstance(message, dict) or message.get("id") != id or "method" in message:
                continue  # a notification or something else in between
            if not isinstance(message.get("result"), dict):
                raise NoAnswer(str(message.get("error"))[:200])
            return dict(message["result"])

    def _line(self) -> bytes:
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._out], [], [], max(0.0, self._until - time.monotonic()))
            piece = os.read(self._out, 1 << 16) if ready else b""
            if not piece:
                raise NoAnswer("no answer")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return line
