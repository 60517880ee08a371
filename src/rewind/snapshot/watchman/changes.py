"""The queries to Watchman: what it watches and ignores, its clock, and what changed."""

from __future__ import annotations

import os

from rewind.fast import quickjson
from rewind.snapshot.rules.rules import bytes_of, text_of
from rewind.snapshot.watchman.memory import MonitorState
from rewind.snapshot.watchman.server import NoAnswer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rewind.jsonfile import JsonObject
    from rewind.snapshot.watchman.server import Server

_SYNC_MS = 150  # how long Watchman may wait to see what happened before the query
_VCS = [b".git", b".svn", b".hg"]  # unless its settings say otherwise
_FIELDS = ["name", "new", "type"]
_SILENT = b"suppress_recrawl_warnings"
_SETTINGS = "/etc/watchman.json"


class Changes:
    def __init__(self, clock: str, warning: str, paths: set[bytes], new_dirs: set[bytes]) -> None:
        self.clock = clock
        self.warning = warning
        self.paths = paths
        self.new_dirs = new_dirs


def changes_since(server: Server, state: MonitorState) -> Changes | None:
    """What changed. None if Watchman does not know, or lost track meanwhile."""
    wanted: dict[str, object] = {"since": state.clock, "fields": _FIELDS, "empty_on_fresh_instance": True,
                              "sync_timeout": _SYNC_MS}
    if state.prefix:
        wanted["relative_root"] = state.prefix
    answer = server.ask("query", state.watch, wanted)
    warning = _text(answer.get(b"warning", b""))
    files = answer.get(b"files")
    # A warning stays as long as the directory is watched, so one that was there before does not matter.
    if answer.get(b"is_fresh_instance") is not False or warning != state.warning:
        return None
    if not isinstance(files, list):
        raise NoAnswer("its answer makes no sense")
    paths = {_name(file) for file in files}
    new_dirs = {file[b"name"] for file in files if file.get(b"type") == b"d" and file.get(b"new")}
    return Changes(_clock(answer), warning, paths, new_dirs)


def begin(server: Server, root: bytes, about: str, now: float) -> MonitorState:
    """Have the directory watched. What happens from now on can be queried later."""
    watched = server.ask("watch-project", root)
    watch, prefix = watched.get(b"watch"), watched.get(b"relative_path", b"")
    if not isinstance(watch, bytes) or not isinstance(prefix, bytes) or _joined(watch, prefix) != root:
        raise NoAnswer("it watches another directory")
    found = server.ask("get-config", watch).get(b"config")
    config: dict[bytes, Any] = found if isinstance(found, dict) else {}
    overall = _global_settings()
    if config.get(_SILENT, overall.get(_SILENT.decode())):
        raise NoAnswer("its settings suppress warnings that it lost track")
    answer = server.ask("clock", watch, {"sync_timeout": _SYNC_MS})
    warning = _text(watched.get(b"warning", b"")) or _text(answer.get(b"warning", b""))
    ignored = _ignored(config, overall, prefix)
    return MonitorState(_clock(answer), text_of(watch), text_of(prefix), ignored, warning, about, now)


def _ignored(config: dict[bytes, Any], overall: JsonObject, prefix: bytes) -> list[str]:
    """Names that are ignored everywhere begin with "/". The others are paths in the project."""
    vcs = _names(config.get(b"ignore_vcs"), overall.get("ignore_vcs"), _VCS)
    below = prefix + b"/" if prefix else b""
    paths = [path[len(below):] for path in _names(config.get(b"ignore_dirs"), overall.get("ignore_dirs"), [])
             if (path + b"/").startswith(below)]
    return [*("/" + text_of(name) for name in vcs), *(text_of(path.strip(b"/")) for path in paths)]


def _names(own: object, overall: object, default: list[bytes]) -> list[bytes]:
    found = next((names for names in (own, overall) if isinstance(names, list)), default)
    return [bytes_of(name) if isinstance(name, str) else name for name in found
            if isinstance(name, (str, bytes))]


def _global_settings() -> JsonObject:
    from rewind.snapshot.rules.gitfiles import read_small

    try:
        found = quickjson.loads(read_small(os.fsencode(os.environ.get("WATCHMAN_CONFIG_FILE") or _SETTINGS)))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _joined(watch: bytes, prefix: bytes) -> bytes:
    return os.path.join(watch, prefix) if prefix else watch


def _name(file: object) -> bytes:
    name = file.get(b"name") if isinstance(file, dict) else None
    if not isinstance(name, bytes) or not name or name.startswith(b"/") or b".." in name.split(b"/"):
        raise NoAnswer("its answer makes no sense")
    return name


def _clock(answer: dict[bytes, Any]) -> str:
    clock = answer.get(b"clock")
    if not isinstance(clock, bytes) or not clock.startswith(b"c:") or len(clock) > 200:
        raise NoAnswer("its clock makes no sense")
    return _text(clock)


def _text(value: object) -> str:
    return text_of(value[:500]) if isinstance(value, bytes) else ""
