"""The plugin for Claude Code's client, in a directory where it loads without an entry in a settings file.

It has no classic hooks, because those are in the agent's settings, which every version of the client reads. A
client that is too old for the plugin's module ignores it.
"""

from __future__ import annotations

import json
import os
import shutil

from rewind.agents.profile import Profile
from rewind.agents.registry import session_home

NAME = "rewind"  # as in the marketplace: of two plugins with the same name, the client loads only one
DESCRIPTION = "Go back in Claude Code: every file and the conversation, without leaving the client."
_PROGRAM = "program.ts"
_MADE_BY = "// Made by `rewind install`, which also removes it.\n"
_SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plugin_hooks")


def plugin_folder(profile: Profile) -> str | None:
    """Where an agent's client looks for it; None if the agent has no such directory."""
    below = (profile.registration or {}).get("plugin")
    home = session_home(profile)
    return os.path.join(home, *below.split("/")) if below and home else None


def is_ours(folder: str) -> bool:
    try:
        with open(os.path.join(folder, "hooks", _PROGRAM), encoding="utf-8", errors="replace") as file:
            return file.readline() == _MADE_BY
    except OSError:
        return False


def installed_version(folder: str) -> str | None:
    try:
        with open(os.path.join(folder, ".claude-plugin", "plugin.json"), encoding="utf-8") as file:
            return str(json.load(file)["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def put_plugin(folder: str, program: str, version: str) -> list[str]:
    """Put the whole plugin there, or nothing. Returns the directories that were made for it. A plugin that is
    not ours is never replaced."""
    if os.path.lexists(folder) and not is_ours(folder):
        raise FileExistsError(f"{folder} is not Rewind's, so it was left alone")
    made = make_missing(os.path.dirname(folder), 0o700)
    new, old = folder + ".rewind-new", folder + ".rewind-old"
    for path in (new, old):
        shutil.rmtree(path, ignore_errors=True)
    try:
        for path, text in _files(program, version).items():
            os.makedirs(os.path.dirname(os.path.join(new, path)), exist_ok=True)
            with open(os.path.join(new, path), "w", encoding="utf-8") as file:
                file.write(text)
        if os.path.lexists(folder):
            os.rename(folder, old)
        os.rename(new, folder)
    finally:
        for path in (new, old):
            shutil.rmtree(path, ignore_errors=True)
    return made


def make_missing(folder: str, mode: int = 0o777) -> list[str]:
    """Make a directory and those above it. Returns the ones that did not exist."""
    missing = missing_above(os.path.join(folder, ""))
    for path in reversed(missing):
        os.mkdir(path, mode)
    return missing


def missing_above(path: str) -> list[str]:
    """The directories above a path that do not exist, the deepest one first."""
    missing = []
    folder = os.path.dirname(path)
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing


def _files(program: str, version: str) -> dict[str, str]:
    found = {}
    for name in sorted(os.listdir(_SOURCE)):
        if name.endswith((".ts", ".tsx")):
            with open(os.path.join(_SOURCE, name), encoding="utf-8") as file:
                found[f"hooks/{name}"] = file.read()
    found[f"hooks/{_PROGRAM}"] = "".join((
        _MADE_BY, f"export const PROGRAM: readonly string[] = [{json.dumps(program)}]\n",
        f"export const VERSION = {json.dumps(version)}\n"))
    # A client before 2.1.286 refuses a plugin without `hooks`.
    found["hooks/hooks.json"] = _json({"modules": ["./register.tsx"], "hooks": {}})
    found[".claude-plugin/plugin.json"] = _json({"name": NAME, "version": version, "description": DESCRIPTION,
                                                 "author": {"name": "Rewind"}, "license": "MIT"})
    return found


def _json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"
