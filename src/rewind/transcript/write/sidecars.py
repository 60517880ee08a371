"""Files beside a transcript that a fork needs as well: Droid's settings, an index of sessions."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from rewind.agents.profile import Profile
from rewind.errors import RewindError
from rewind.fast import quickjson
from rewind.files import read_bounded, sweep_drafts, write_atomic
from rewind.jsonfile import JsonObject
from rewind.transcript.names import stem

INDEX = "sessions-index.json"
_MAX_BYTES = 64 << 20


def sidecar_paths(path: str, profile: Profile) -> list[str]:
    return [stem(path) + rule["suffix"] for rule in profile.fork["sidecars"]]


def copy_sidecars(source: str, target: str, profile: Profile) -> list[str]:
    """Copy what can be copied, since the agent can resume without them. Returns what failed."""
    failed = []
    for rule in profile.fork["sidecars"]:
        path = stem(source) + rule["suffix"]
        if not os.path.lexists(path):
            continue
        try:
            data = _read(path)
            if isinstance(data, dict):
                kept = {key: value for key, value in data.items() if key not in rule["drop"]}
                _write(stem(target) + rule["suffix"], kept)
        except (OSError, ValueError, RecursionError, RewindError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not understood"
            failed.append(f"{os.path.basename(path)} could not be copied ({reason});"
                          " the fork can be resumed without it.")
    return failed


def _read(path: str) -> Any:
    return quickjson.loads(read_bounded(path, _MAX_BYTES))


def _write(path: str, data: Any) -> None:
    from json import dumps

    write_atomic(path, dumps(data, ensure_ascii=False, indent=2).encode("utf-8", "surrogatepass"))


# sessions-index.json: Claude Code 2.1 has none, but older clients and other tools keep one

def add_to_index(folder: str, entry: JsonObject) -> None:
    _change_index(folder, lambda entries: [*entries, entry])


def remove_from_index(folder: str, session_id: str) -> None:
    _change_index(folder, lambda entries: [e for e in entries if _id(e) != session_id])


def update_index(folder: str, session_id: str, changes: JsonObject) -> None:
    _change_index(folder, lambda entries: [{**e, **changes} if _id(e) == session_id else e
                                           for e in entries])


def _id(entry: Any) -> Any:
    return entry.get("sessionId") if isinstance(entry, dict) else None


def _change_index(folder: str, change: Callable[[list[Any]], list[Any]]) -> None:
    """Only if there is one that we understand: a list, or an object that contains a list."""
    path = os.path.join(folder, INDEX)
    try:
        data = _read(path)
        sweep_drafts(path)
        key = next((k for k in ("entries", "sessions") if isinstance(data, dict)
                    and isinstance(data.get(k), list)), None)
        if isinstance(data, list):
            _write(path, change(data))
        elif key:
            _write(path, {**data, key: change(data[key])})
    except (OSError, ValueError, RecursionError, RewindError):
        return  # only the sessions themselves matter
