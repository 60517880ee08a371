"""Watchman in this project: whether it is used, and what happens if it missed a change."""

from __future__ import annotations

import os
import time

from rewind import jsonfile
from rewind.checkpoint.records.record import iso_time
from rewind.fast import quickjson
from rewind.snapshot.scan.scan import scan
from rewind.snapshot.watchman.where import find_socket, start_server
from rewind.words import and_more

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rewind.checkpoint.project.state import State
    from rewind.snapshot.watchman.monitor import Monitor

_OFF = "watchman-off.json"
_TRIED = "watchman-tried"  # a fact: when Rewind last tried to start Watchman
_AGAIN = 600.0
_PATIENCE = 0.2
_SHOWN = 5
_MAX_BYTES = 1 << 20


def off_path(state: State) -> str:
    """A file that says that Watchman missed a change here. While it exists, Watchman is not used."""
    return state.project.own(_OFF)


def monitor_for(state: State, *, check: bool) -> Monitor | None:
    if os.path.lexists(off_path(state)):
        return None
    socket = find_socket(os.environ)
    if state.settings.get("scan.monitor") == "watchman" and not (socket and _is_alive(socket)):
        socket = _start(state)
    if not socket:
        return None
    from rewind.snapshot.watchman.monitor import Monitor

    return Monitor(state.root, socket, state.cache.files(), check=check)


def _is_alive(socket: str) -> bool:
    """Whether something listens there: a Watchman that was killed leaves its socket behind."""
    from rewind.snapshot.watchman.server import NoAnswer, Server

    try:
        Server(socket, _PATIENCE).close()
    except NoAnswer:
        return False
    return True


def _start(state: State) -> str:
    """Start Watchman if it was not tried recently, because what failed would fail again in every hook."""
    now = time.time()
    rows = state.scanned.query("SELECT value FROM facts WHERE key=?", (_TRIED,))
    if rows and 0 <= now - rows[0][0] < _AGAIN:
        return ""
    state.scanned.write([("INSERT OR REPLACE INTO facts VALUES(?, ?)", [(_TRIED, now)])])
    return start_server()


def check_now(state: State) -> list[bytes]:
    """What Watchman missed since the last scan, found by walking the whole project. Nothing is stored."""
    monitor = monitor_for(state, check=True) if state.cache.monitored() else None
    if monitor is None or state.settings.get("scan.monitor") == "off":
        return []
    try:
        scan(state.root, state.rules(), state.cache, state.objects, keep=False, monitor=monitor)
    finally:
        monitor.close()
    if monitor.missed:
        turn_off(state, monitor.missed)
    return monitor.missed


def turn_off(state: State, missed: list[bytes]) -> None:
    paths = [_shown(path) for path in missed[:_SHOWN]]
    at = iso_time()
    try:
        jsonfile.write(off_path(state), {"at": at, "missed": paths, "count": len(missed)})
        fd = os.open(state.project.path("rewind.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(fd, f"{at} {os.getpid()} Watchman missed changes and is no longer asked:"
                         f" {_names(missed)}\n".encode())
        finally:
            os.close(fd)
    except OSError:
        pass  # a full disk: the next check finds it again


def _shown(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def _names(missed: list[bytes]) -> str:
    return and_more([quickjson.dumps(_shown(path)) for path in missed], _SHOWN)


def missed_text(missed: list[bytes]) -> str:
    """A text for the person: what was missed and what that means."""
    return (f"Watchman missed changes, so Rewind no longer asks it in this project: {_names(missed)}."
            " The latest checkpoints may hold an older version of them")


def missed_here(state: State) -> tuple[str, list[str]] | None:
    """When Watchman was turned off and because of which paths; None if it was not."""
    try:
        found = jsonfile.read(off_path(state), _MAX_BYTES) or {}
        return str(found["at"]), [str(path) for path in found["missed"]]
    except FileNotFoundError:
        return None
    except (OSError, KeyError, TypeError):
        return "", []
