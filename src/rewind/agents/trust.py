"""Whether an agent trusts a directory: Gemini CLI runs no hooks in one that it does not trust. Read only."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from rewind.agents.profile import Profile, pick
from rewind.agents.registry import session_home
from rewind.errors import RewindError
from rewind.fast import quickjson
from rewind.files import read_bounded
from rewind.jsonfile import JsonObject

_MAX_BYTES = 4 << 20
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.S)


def is_trusted(profile: Profile, folder: str, environ: Mapping[str, str] | None = None) -> bool:
    """By the longest rule for the directory, as the agent decides it. Other agents trust every directory."""
    rule = (profile.registration or {}).get("trust")
    home = session_home(profile, environ)
    if not rule or home is None:
        return True
    environ = os.environ if environ is None else environ
    settings = _read(os.path.join(home, (profile.registration or {})["settings"]))
    if environ.get(rule["variable"]) == "true" or pick(settings, rule["setting"]) is False:
        return True
    best = max(((len(path), trust) for path, trust in _read(os.path.join(home, rule["file"])).items()
                if isinstance(trust, str) and _holds(path, trust == rule["parent"], folder)), default=(0, ""))
    return best[1] in (rule["trusted"], rule["parent"])


def _holds(path: str, is_parent: bool, folder: str) -> bool:
    top = os.path.realpath(os.path.dirname(path) if is_parent else path)
    return os.path.commonpath([top, os.path.realpath(folder)]) == top if os.path.isabs(path) else False


def _read(path: str) -> JsonObject:
    try:
        text = read_bounded(path, _MAX_BYTES).decode("utf-8", "replace").lstrip("\ufeff")
        plain = _STRING_OR_COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)
        found = quickjson.loads(plain)
    except (OSError, ValueError, RecursionError, RewindError):
        return {}
    return found if isinstance(found, dict) else {}
