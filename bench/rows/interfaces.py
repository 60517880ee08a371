"""The terminal UI and the page, from the command until a person sees something, against loading their
libraries."""

from __future__ import annotations

import importlib.util
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import urllib.request
from typing import Callable

from bench.measure import interleave
from bench.rows.row import Outcome, Row, Runner, Unfaithful, compare
from bench.skipped import Skipped
from bench.workplace import Workplace

_PATIENCE = 60.0
_LEAVE = b"q"
# The terminal UI asks for the kind of terminal. The answer is that of a terminal with a black background.
_QUESTION, _REPLY = b"\x1b[c", b"\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?62c"


def _against(needs: tuple[str, ...], imports: str,
             start: Callable[[Workplace, list[str]], Callable[[], None]]) -> Runner:
    """`start` returns a function that starts the interface, waits until it is there, and returns the function
    that ends it."""
    def run(place: Workplace) -> Outcome:
        for name in needs:
            if importlib.util.find_spec(name) is None:
                raise Skipped(f"{name} is not installed for {sys.executable}")
        rewind = place.small_project("shown", 1000)
        for number in range(20):
            (rewind.project / "counter").write_text(str(number))
            rewind.save()
        os.chdir(rewind.project)
        begin = start(place, [sys.executable, str(place.options.checkout / "bin" / "rewind")])
        ends: list[Callable[[], None]] = []

        def ours() -> None:
            ends.append(begin())

        def libraries() -> None:
            place.spawner.run([sys.executable, "-c", imports])

        taken = interleave({"ours": ours, "libraries": libraries}, place.options.few,
                           after=lambda name: ends.pop()() if name == "ours" else None)
        return compare(taken["ours"], taken["libraries"], "21 checkpoints")

    return run


def _page(place: Workplace, command: list[str]) -> Callable[[], Callable[[], None]]:
    def begin() -> Callable[[], None]:
        process = subprocess.Popen([*command, "ui", "--no-open"], env=place.spawner.env,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert process.stdout
        found = None
        while found is None:
            line = process.stdout.readline()
            if not line:
                raise Unfaithful("`rewind ui` ended without an address")
            found = re.search(rb"http://\S+", line)
        # The key in the address is exchanged for a cookie.
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(found[0].decode(), timeout=_PATIENCE) as answer:
            if b"<html" not in answer.read():
                raise Unfaithful("the address of `rewind ui` leads to no page")

        def end() -> None:
            process.send_signal(signal.SIGINT)
            process.wait(_PATIENCE)
            if process.stdout:
                process.stdout.close()

        return end

    return begin


def _screen(place: Workplace, command: list[str]) -> Callable[[], Callable[[], None]]:
    def begin() -> Callable[[], None]:
        screen, terminal = pty.openpty()
        env = {**place.spawner.env, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}
        process = subprocess.Popen([*command, "tui"], env=env, stdin=terminal, stdout=terminal,
                                   stderr=terminal, start_new_session=True)
        os.close(terminal)
        _read_until(screen, _QUESTION, process)
        os.write(screen, _REPLY)
        _read_until(screen, b"21 checkpoints", process)

        def end() -> None:
            os.write(screen, _LEAVE)
            while process.poll() is None:
                if select.select([screen], [], [], 0.05)[0]:
                    try:
                        os.read(screen, 1 << 16)
                    except OSError:
                        break  # the other side is closed
            process.wait(_PATIENCE)
            os.close(screen)

        return end

    return begin


def _read_until(screen: int, wanted: bytes, process: subprocess.Popen[bytes]) -> None:
    seen = b""
    until = time.monotonic() + _PATIENCE
    while wanted not in seen:
        if time.monotonic() > until or process.poll() is not None:
            raise Unfaithful(f"`rewind tui` does not say {wanted!r}")
        if select.select([screen], [], [], 0.2)[0]:
            seen += os.read(screen, 1 << 16)


ROWS = [
    Row("ui", "`ui` until the page answers ÷ loading its libraries", None,
        _against(("uvicorn", "starlette"), "import uvicorn, starlette.applications", _page), "more"),
    Row("tui", "`tui` until its first screen ÷ loading its library", None,
        _against(("textual",), "import textual.app, textual.widgets", _screen), "more"),
]
