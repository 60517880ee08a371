"""What a tool call in a transcript did: a line about it, the files it named, what it may have started."""

from __future__ import annotations

import os

from rewind.agents.profile import Profile
from rewind.jsonfile import JsonObject

_TELLING = ("file_path", "path", "notebook_path", "command", "pattern", "url", "query", "description",
            "prompt", "subject")
_LONGEST = 160
_FILE_MARKS = ("*** Add File: ", "*** Update File: ", "*** Move to: ")
_STARTS = ("nohup ", "setsid ", "disown", "systemctl start", "docker run", "docker compose up",
           "docker-compose up", "npm start", "npm run dev", "npm run start", "yarn dev", "pnpm dev",
           "runserver", "http.server", "--watch")


def summary_of(tool_input: object) -> str:
    """One line with what says most: the file, the command, and so on."""
    if not isinstance(tool_input, dict):
        return ""
    text = next((tool_input[key] for key in _TELLING if isinstance(tool_input.get(key), str)), "")
    if not text:
        text = next((value for value in tool_input.values() if isinstance(value, str)), "")
    line = " ".join(text[:_LONGEST * 4].split())
    return line if len(line) <= _LONGEST else line[:_LONGEST - 1] + "…"


def pretty(tool_input: object, limit: int) -> str:
    """As readable JSON. A text that is not in an object stays as it is."""
    from json import dumps

    if isinstance(tool_input, str):
        return tool_input[:limit + 1]
    try:
        return dumps(tool_input, indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return str(tool_input)[:limit + 1]


def files_named(tool_input: object, name: str, profile: Profile, cwd: str) -> list[str]:
    """Full paths of the files that an editing tool named."""
    if name not in profile.tools["edit"] or not isinstance(tool_input, dict) or not profile.payload:
        return []
    found = [tool_input.get(key) for key in profile.payload["files"]]
    for key in profile.payload["patch"]:
        patch = tool_input.get(key)
        if isinstance(patch, str):
            found += [line[len(mark):].strip() for line in patch.split("\n") for mark in _FILE_MARKS
                      if line.startswith(mark)]
    return [os.path.normpath(os.path.join(cwd, path)) for path in found
            if isinstance(path, str) and path and "\0" not in path]


def may_have_started(tool_input: JsonObject, name: str, profile: Profile) -> bool:
    """Whether a shell command looks as if it left a process behind. This is a guess, for a warning."""
    if name not in profile.tools["shell"]:
        return False
    keys = profile.payload["command"] if profile.payload else []
    command = next((tool_input[key] for key in keys if isinstance(tool_input.get(key), str)), "")
    return bool(tool_input.get("run_in_background") or tool_input.get("fireAndForget")
                or _has_background_sign(command) or any(word in command for word in _STARTS))


def _has_background_sign(command: str) -> bool:
    """Whether there is a `&` that is not part of `&&`, `>&` or `&>`."""
    for at, char in enumerate(command):
        if char == "&" and command[at - 1:at] not in ("&", ">", "<") and command[at + 1:at + 2] not in (
                "&", ">"):
            return True
    return False
